import type { FieldError } from './object.js';

const shownLengthMax = 64;
// What programs are given to run with, and whatever calls itself a secret: neither belongs in an answer or a log.
const secretPath = /\benv\[[^\]]*\]\.value$|pass(word|phrase)|secret|token|credential|private-?key/i;

/** What is wrong with a field, for people: what is allowed there and, unless it is a secret, what was found. */
export function fieldErrorText({ path, value, reason, message }: FieldError): string {
  // Of a field that is missing, or that nobody knows, the name says it all.
  if (value === undefined || reason === 'Required' || reason === 'Unknown') return message;
  if (secretPath.test(path)) return message;
  const text = JSON.stringify(value);
  const shown = text.length > shownLengthMax ? `${text.slice(0, shownLengthMax)}…` : text;
  return message.includes(shown) ? message : `${message} (it is ${shown})`;
}

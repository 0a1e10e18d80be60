import type { FieldError } from '../object.js';
import type { Template } from './template.js';

// What Linux takes: a word, or NAME=value, with the byte that ends it; and of all together a part of a stack, of which some is
// left for what Berth adds and for what `$(NAME)` puts in.
const wordBytesMax = 128 * 1_024 - 1;
const sumBytesMax = 1_024 * 1_024;

/** What a machine could never start is refused where people see it. */
export function checkRunWords({ run }: Template): readonly FieldError[] {
  const { process: own, container, env = [] } = run;
  const at = 'spec.template.run';
  const words = [
    ...named(`${at}.process.command`, own?.command),
    ...named(`${at}.container.command`, container?.command),
    ...named(`${at}.container.args`, container?.args),
    ...env.map(({ name, value }, index) => ({ path: `${at}.env[${index}].value`, text: `${name}=${value}` })),
  ].map(({ path, text }) => ({ path, bytes: Buffer.byteLength(text) }));
  const tooLong = words
    .filter(({ bytes }) => bytes > wordBytesMax)
    .map(({ path, bytes }): FieldError => ({
      ...{ path, reason: 'TooLong' },
      message: `has ${bytes} bytes; a process takes words, and variables with their names, of at most ${wordBytesMax}`,
    }));
  const sum = words.reduce((bytes, word) => bytes + word.bytes + 1, 0);
  if (tooLong.length > 0 || sum <= sumBytesMax) return tooLong;
  return [
    {
      ...{ path: at, reason: 'TooLong' },
      message: `command, args and env have ${sum} bytes together; a process is given at most ${sumBytesMax}`,
    },
  ];
}

const named = (path: string, words: readonly string[] = []) =>
  words.map((text, index) => ({ path: `${path}[${index}]`, text }));

import { styleText } from 'node:util';

type Style = Parameters<typeof styleText>[0];

/** Colour for people only: what goes to a file or another program stays plain, and NO_COLOR is heard. */
export function painted(style: Style, text: string, stream: { readonly isTTY?: boolean }): string {
  const noColor = process.env['NO_COLOR'] ?? '';
  // Node would ask standard output alone, whichever stream the text goes to.
  return stream.isTTY === true && noColor === '' ? styleText(style, text, { validateStream: false }) : text;
}

/** Data goes to standard output. */
export const print = (text: string): void => void process.stdout.write(`${text}\n`);

/** Words for people go to standard error. */
export const say = (text: string): void => void process.stderr.write(`${text}\n`);

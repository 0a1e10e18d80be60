import { expect, it } from 'vitest';
import { checkRunWords } from './run-words.js';

const most = 128 * 1_024 - 1;
const said = (run: Parameters<typeof checkRunWords>[0]['run']): string[] =>
  checkRunWords({ run }).map(({ path, message }) => `${path}: ${message}`);
const command = (...words: string[]) => ({ process: { command: ['true', ...words] } });

it('a word may be as long as the kernel takes it, in bytes, and no longer', () => {
  expect(said(command('x'.repeat(most)))).toEqual([]);
  expect(said(command('é'.repeat(most / 2 + 1)))).toEqual([
    'spec.template.run.process.command[1]: has 131072 bytes; a process takes words, and variables with their names, of at most 131071',
  ]);
});

it('a variable counts with its name', () => {
  const env = (length: number) => ({ ...command(), env: [{ name: 'WORD', value: 'x'.repeat(length) }] });
  expect(said(env(most - 5))).toEqual([]);
  expect(said(env(most - 4))).toHaveLength(1);
});

it('all together are no more than a process is given', () => {
  expect(said(command(...Array.from({ length: 8 }, () => 'x'.repeat(130_000))))).toEqual([]);
  expect(
    said({ container: { image: 'i', args: Array.from({ length: 9 }, () => 'x'.repeat(130_000)) } }),
  ).toEqual([
    'spec.template.run: command, args and env have 1170009 bytes together; a process is given at most 1048576',
  ]);
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LineSplitter } from './line-splitter.js';

interface Case {
  readonly name: string;
  readonly chunks: readonly string[];
  /** A piece that ends with `…` is partial. */
  readonly pieces: readonly string[];
}

const cases: readonly Case[] = [
  { name: 'whole lines', chunks: ['a\nb\n'], pieces: ['a', 'b'] },
  { name: 'a line in three chunks', chunks: ['a', 'b', 'c\n'], pieces: ['abc'] },
  { name: 'an empty line', chunks: ['\n\n'], pieces: ['', ''] },
  { name: 'a last line without its end', chunks: ['a\nb'], pieces: ['a', 'b…'] },
  { name: 'a line as long as allowed', chunks: ['12345678\n'], pieces: ['12345678'] },
  { name: 'a line one byte longer', chunks: ['123456789\n'], pieces: ['12345678…', '9'] },
  { name: 'a cut before a character, not in it', chunks: ['1234567ä9\n'], pieces: ['1234567…', 'ä9'] },
  { name: 'a cut before a character of four bytes', chunks: ['12345😀\n'], pieces: ['12345…', '😀'] },
  { name: 'a carriage return stays', chunks: ['a\r\n'], pieces: ['a\r'] },
];

describe('LineSplitter', () => {
  it.each(cases)('cuts $name', ({ chunks, pieces }) => {
    const splitter = new LineSplitter(8);
    const taken = chunks.flatMap((chunk) => splitter.take(Buffer.from(chunk)));
    const rest = splitter.end();
    const all = rest === undefined ? taken : [...taken, rest];
    expect(all.map(({ bytes, isPartial }) => `${bytes.toString()}${isPartial ? '…' : ''}`)).toEqual(pieces);
  });

  it('gives every byte back, whatever they are and however they come', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 20 }), (chunks) => {
        const splitter = new LineSplitter(8);
        const taken = chunks.flatMap((chunk) => splitter.take(chunk));
        const rest = splitter.end();
        const all = rest === undefined ? taken : [...taken, rest];
        const back = all.map(({ bytes, isPartial }) =>
          isPartial ? bytes : Buffer.concat([bytes, Buffer.from('\n')]),
        );
        expect(Buffer.concat(back)).toEqual(Buffer.concat(chunks));
        for (const { bytes } of all) expect(bytes.length).toBeLessThanOrEqual(8);
      }),
    );
  });
});

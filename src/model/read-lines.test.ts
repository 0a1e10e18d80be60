import { describe, expect, it } from 'vitest';
import { readLines } from './read-lines.js';

async function linesOf(chunks: readonly Buffer[]): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of readLines(streamOf(chunks))) lines.push(line);
  return lines;
}

async function* streamOf(chunks: readonly Buffer[]): AsyncGenerator<Buffer, void> {
  for (const chunk of chunks) {
    await Promise.resolve();
    yield chunk;
  }
}

describe('the lines of a stream', () => {
  it('are whole wherever it is divided, and what is cut off is no line', async () => {
    const bytes = Buffer.from('eins\n\nzwölf €\ndrei\nhal');
    for (let size = 1; size <= bytes.length; size++) {
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.subarray(index * size, (index + 1) * size),
      );
      expect(await linesOf(chunks)).toEqual(['eins', 'zwölf €', 'drei']);
    }
  });

  it('are bounded', async () => {
    const chunk = Buffer.alloc(1024 * 1024, 'x');
    await expect(linesOf(Array<Buffer>(9).fill(chunk))).rejects.toMatchObject({ code: 'InternalError' });
  });
});

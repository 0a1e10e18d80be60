import type { FileHandle } from 'node:fs/promises';

const blockBytes = 64 * 1024;

/**
 * Where the last `lines` lines of a file begin, read from its end, so that a short tail of a long file costs little. If
 * it has fewer, how many it has: the rest is in the file before it.
 */
export async function tailOffset(
  handle: FileHandle,
  lines: number,
): Promise<{ readonly offset: number; readonly found: number }> {
  const { size } = await handle.stat();
  if (lines === 0) return { offset: size, found: 0 };
  const block = Buffer.alloc(blockBytes);
  let found = 0;
  for (let end = size; end > 0;) {
    const start = Math.max(0, end - blockBytes);
    const { bytesRead } = await handle.read(block, 0, end - start, start);
    // The line end of the last line ends a line; it begins none.
    const from = end === size ? bytesRead - 2 : bytesRead - 1;
    for (let at = from; at >= 0; at--) {
      if (block[at] !== 10) continue;
      found += 1;
      if (found === lines) return { offset: start + at + 1, found };
    }
    end = start;
  }
  return { offset: 0, found: size === 0 ? 0 : found + 1 };
}

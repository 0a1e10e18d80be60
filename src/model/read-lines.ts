import { BerthError } from './errors.js';

// A line longer than this ends the stream: no object is a quarter as long.
const lineBytesMaxUsual = 8 * 1024 * 1024;

/** The whole lines of a stream. What follows the last line end was cut off and is left out. */
export async function* readLines(
  chunks: AsyncIterable<Buffer>,
  lineBytesMax = lineBytesMaxUsual,
): AsyncGenerator<string, void> {
  let parts: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      const line = Buffer.concat([...parts, chunk.subarray(start, end)]).toString();
      parts = [];
      bytes = 0;
      start = end + 1;
      if (line !== '') yield line;
    }
    const rest = chunk.subarray(start);
    bytes += rest.length;
    if (bytes > lineBytesMax) {
      throw new BerthError('InternalError', `a line of the stream is over ${lineBytesMax} bytes`);
    }
    if (rest.length > 0) parts.push(rest);
  }
}

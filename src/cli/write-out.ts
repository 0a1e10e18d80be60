import type { Writable } from 'node:stream';

/** Writes, and waits where whoever reads it is slow. */
export async function writeOut(stream: Writable, bytes: string | Uint8Array): Promise<void> {
  if (stream.write(bytes)) return;
  await new Promise<void>((resolve) => {
    stream.once('drain', resolve);
    stream.once('close', resolve);
  });
}

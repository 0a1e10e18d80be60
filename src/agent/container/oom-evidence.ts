import { closeSync, constants, openSync, readSync } from 'node:fs';

const recordBytesMax = 8 * 1024;
// The kernel keeps fewer.
const recordsMax = 100_000;

/**
 * Whether the kernel says that it ended something in this container for want of memory. Not every engine notices; the
 * kernel's log does, where the agent may read it. Undefined: it may not.
 */
export function kernelSawOutOfMemory(container: string): boolean | undefined {
  let kernelLog: number;
  try {
    kernelLog = openSync('/dev/kmsg', constants.O_RDONLY | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
  try {
    const record = Buffer.alloc(recordBytesMax);
    for (let records = 0; records < recordsMax; records++) {
      const length = nextRecord(kernelLog, record);
      if (length === undefined) return false;
      if (isOutOfMemory(record.toString('utf8', 0, length), container)) return true;
    }
    return false;
  } finally {
    closeSync(kernelLog);
  }
}

/** `oom-kill:…,task_memcg=PATH,task=NAME,pid=…`, where the path of the cgroup has the container's id. */
export const isOutOfMemory = (record: string, container: string): boolean =>
  record.includes('oom-kill:') && (/task_memcg=([^,]*)/.exec(record)?.[1] ?? '').includes(container);

/** Each read gives one record. Undefined: that was all. */
function nextRecord(kernelLog: number, into: Buffer): number | undefined {
  try {
    return readSync(kernelLog, into);
  } catch (error) {
    // EPIPE: some were overwritten before they were read; the next read goes on after them.
    return (error as NodeJS.ErrnoException).code === 'EPIPE' ? 0 : undefined;
  }
}

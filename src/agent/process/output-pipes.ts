import { spawnSync } from 'node:child_process';
import { chownSync, closeSync, constants, mkdirSync, openSync, readSync, renameSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { BerthError } from '../../model/errors.js';

// Node makes no named pipes; one call of mkfifo makes these.
const batch = 64;

/**
 * Named pipes that jobs write their output to. A pipe with a name outlives the supervisor: the job holds both ends of it,
 * so that nothing it says is lost or kills it while nobody reads, and a successor reads on.
 */
export class PipePool {
  readonly #ready: string[] = [];
  #made = 0;

  constructor(private readonly dir: string) {
    rmSync(dir, { recursive: true, force: true });
    mkdirSync(dir, { recursive: true, mode: 0o700 });
  }

  /** Puts a new pipe at a path. */
  take(path: string): void {
    if (this.#ready.length === 0) this.#make();
    const pipe = this.#ready.pop();
    if (pipe === undefined) throw new Error('no pipe was made');
    renameSync(pipe, path);
  }

  #make(): void {
    const names = Array.from({ length: batch }, () => join(this.dir, String((this.#made += 1))));
    const made = spawnSync('mkfifo', ['--mode=600', ...names]);
    if (made.status !== 0)
      throw new BerthError(
        'InternalError',
        `cannot make named pipes: ${made.error?.message ?? made.stderr.toString()}`,
      );
    this.#ready.push(...names);
  }
}

export type OutputName = 'stdout' | 'stderr';
export const outputNames: readonly OutputName[] = ['stdout', 'stderr'];

/**
 * What a job is given to write to: both ends, so that it never writes to a pipe that nobody holds. The pipe is its user's,
 * so that it may open /dev/stdout; where its name is no job can get (`RunFiles.prepare`).
 */
export function openForJob(
  path: string,
  user: { readonly uid: number; readonly gid: number } | undefined,
): number {
  if (user !== undefined) chownSync(path, user.uid, user.gid);
  return openSync(path, constants.O_RDWR);
}

/** What the supervisor reads. Ends when the last process of the job has gone. */
export const openForReading = (path: string): number =>
  openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);

export const streamOf = (descriptor: number): Socket =>
  new Socket({ fd: descriptor, readable: true, writable: false });

/** What there is in it now, without waiting. */
export function readNow(descriptor: number): string {
  const buffer = Buffer.alloc(1_024);
  try {
    return buffer.subarray(0, readSync(descriptor, buffer)).toString().trim();
  } catch {
    return '';
  } finally {
    closeSync(descriptor);
  }
}

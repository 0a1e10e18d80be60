import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Env, Timer } from '../../env/env.js';
import { wallTimestamp } from '../../env/instant.js';
import type { Verb } from './authorize.js';

/** One mutation. There is no field for a body or a header: what is not here cannot leak. */
export interface AuditEntry {
  /** As formatIdentity writes it. */
  readonly who: string;
  readonly verb: Verb;
  readonly kind: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly subresource?: string;
  /** The HTTP status of the answer. */
  readonly outcome: number;
  readonly revisionBefore?: string;
  readonly revisionAfter?: string;
  readonly requestId: string;
  readonly sourceIP: string;
}

/** What operators see of the log's health. `lost` lines were never written: a disk failed for too long. */
export interface AuditHealth {
  readonly written: number;
  readonly waiting: number;
  readonly lost: number;
  readonly failures: number;
  readonly lastError?: { readonly at: string; readonly message: string };
}

export interface AuditLimits {
  /** A file is not added to when a line would take it past this. */
  readonly fileBytesMax: number;
  /** The current file included. */
  readonly filesMax: number;
  /** Lines waiting for a disk that does not take them. At the bound new ones are counted as lost. */
  readonly waitingMax: number;
}

const defaultLimits: AuditLimits = { fileBytesMax: 32 * 1024 * 1024, filesMax: 8, waitingMax: 10_000 };
const fieldLengthMax = 512;
const retryDelayMs = 1000;
const gatherMs = 20;
// One write carries at most this many lines, so that a long queue does not become one huge string.
const batchLinesMax = 500;

/**
 * Appends one JSON line per mutation to DIR/audit.log; older lines are in audit.log.1, audit.log.2 and so on.
 * Requests never wait for it and never fail because of it. Lines that were written survive the end of this
 * process, not a power cut.
 */
export class AuditLog {
  readonly #env: Env;
  readonly #dir: string;
  readonly #limits: AuditLimits;
  #waiting: string[] = [];
  #written = 0;
  #lost = 0;
  #failures = 0;
  #lastError: { at: string; message: string } | undefined;
  // Invariant: at most one of these two is set, so that only one writer touches the files.
  #writing: Promise<void> | undefined;
  #retry: Timer | undefined;
  #isClosed = false;
  // The file may end within a line: after a crash, or after a write that failed half way.
  #isTailUnknown = true;

  constructor(parts: { env: Env; dir: string; limits?: AuditLimits }) {
    this.#env = parts.env;
    this.#dir = parts.dir;
    this.#limits = parts.limits ?? defaultLimits;
  }

  /** Returns at once. */
  record(entry: AuditEntry): void {
    if (this.#isClosed || this.#waiting.length >= this.#limits.waitingMax) {
      this.#lost += 1;
      return;
    }
    this.#waiting.push(lineOf(entry, wallTimestamp(this.#env.clock.wall())));
    if (this.#retry === undefined) this.#start();
  }

  health(): AuditHealth {
    return {
      written: this.#written,
      waiting: this.#waiting.length,
      lost: this.#lost,
      failures: this.#failures,
      ...(this.#lastError === undefined ? {} : { lastError: this.#lastError }),
    };
  }

  /** Resolves when what was recorded so far is written, or the disk has refused it once more. */
  async flush(): Promise<void> {
    this.#retry?.cancel();
    this.#retry = undefined;
    const until = this.#written + this.#waiting.length;
    const failuresBefore = this.#failures;
    this.#start();
    while (this.#written < until && this.#failures === failuresBefore) await this.#writing;
  }

  /** Writes what is waiting. What the disk refuses now is lost, and counted. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.flush();
    this.#retry?.cancel();
    this.#retry = undefined;
    this.#lost += this.#waiting.length;
    this.#waiting = [];
  }

  #start(): void {
    this.#writing ??= this.#drain().finally(() => {
      this.#writing = undefined;
      // A line may have come between the writer's last look and here.
      if (this.#waiting.length > 0 && this.#retry === undefined) this.#start();
    });
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      // Opening and closing the file costs as much as many lines do: what comes within a moment shares it.
      if (this.#waiting.length < batchLinesMax && !this.#isClosed) await this.#env.sleep(gatherMs);
      try {
        const count = await this.#writeBatch();
        this.#waiting.splice(0, count);
        this.#written += count;
      } catch (error) {
        this.#failures += 1;
        this.#lastError = {
          at: wallTimestamp(this.#env.clock.wall()),
          message: error instanceof Error ? error.message : String(error),
        };
        this.#isTailUnknown = true;
        this.#retry = this.#env.after(retryDelayMs, () => {
          this.#retry = undefined;
          this.#start();
        });
        return;
      }
    }
  }

  /**
   * Writes as many lines as the current file has room for; returns how many. The file is opened anew each
   * time: a handle kept open would go on writing, without an error, to a file that somebody removed.
   */
  async #writeBatch(): Promise<number> {
    const path = join(this.#dir, 'audit.log');
    let size = await sizeOf(path);
    if (size === undefined) await mkdir(this.#dir, { recursive: true, mode: 0o700 });
    const firstBytes = Buffer.byteLength(this.#waiting[0] ?? '');
    if (size !== undefined && size > 0 && size + firstBytes > this.#limits.fileBytesMax) {
      await this.#rotate(path);
      size = 0;
    }
    const { text, count } = this.#batchFor(this.#limits.fileBytesMax - (size ?? 0));
    const file = await open(path, 'a+', 0o600);
    const sizeBefore = (await file.stat()).size;
    try {
      const torn = this.#isTailUnknown && sizeBefore > 0 && !(await endsWithNewline(file, sizeBefore));
      await file.appendFile(torn ? `\n${text}` : text);
      this.#isTailUnknown = false;
    } catch (error) {
      // Half a batch must not stay: its lines are going to be written again.
      await file.truncate(sizeBefore).catch(() => undefined);
      throw error;
    } finally {
      await file.close();
    }
    return count;
  }

  /** The first lines that fit, and at least one: a line longer than a whole file gets a file of its own. */
  #batchFor(room: number): { readonly text: string; readonly count: number } {
    let text = '';
    let bytes = 0;
    let count = 0;
    for (const line of this.#waiting.slice(0, batchLinesMax)) {
      bytes += Buffer.byteLength(line);
      if (count > 0 && bytes > room) break;
      text += line;
      count += 1;
    }
    return { text, count };
  }

  async #rotate(path: string): Promise<void> {
    const last = this.#limits.filesMax - 1;
    if (last === 0) {
      await rm(path);
      return;
    }
    for (let number = last - 1; number >= 0; number--) {
      const from = number === 0 ? path : `${path}.${number}`;
      await rename(from, `${path}.${number + 1}`).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error;
      });
    }
  }
}

function lineOf(entry: AuditEntry, at: string): string {
  // Field by field: whatever else the object may carry stays out.
  const line = {
    at,
    who: cut(entry.who),
    verb: entry.verb,
    kind: cut(entry.kind),
    namespace: cut(entry.namespace),
    name: cut(entry.name),
    subresource: cut(entry.subresource),
    outcome: entry.outcome,
    revisionBefore: cut(entry.revisionBefore),
    revisionAfter: cut(entry.revisionAfter),
    requestId: cut(entry.requestId),
    sourceIP: cut(entry.sourceIP),
  } satisfies Record<keyof AuditEntry | 'at', unknown>;
  return `${JSON.stringify(line)}\n`;
}

const cut = (text: string | undefined): string | undefined =>
  text !== undefined && text.length > fieldLengthMax ? `${text.slice(0, fieldLengthMax)}…` : text;

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function endsWithNewline(file: Awaited<ReturnType<typeof open>>, size: number): Promise<boolean> {
  const last = Buffer.alloc(1);
  await file.read(last, 0, 1, size - 1);
  return last.toString() === '\n';
}

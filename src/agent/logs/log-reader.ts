import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Env } from '../../env/env.js';
import { wallTimestamp } from '../../env/instant.js';
import { BerthError } from '../../model/errors.js';
import type { LogOptions } from '../../model/sessions.js';
import { inOrder, logDirectory, type LogFile, logFileName, logFilesOf } from './log-files.js';
import { LogLines } from './log-lines.js';
import { type LogLabels, type LogRecord, parseRecord } from '../../model/log-record.js';
import { tailOffset } from './log-tail.js';

export interface LogReaderParts {
  /** The directory of all logs of the machine. */
  readonly dir: string;
  readonly env: Env;
}

export interface LogQuery {
  readonly replica: Pick<LogLabels, 'tenant' | 'replica' | 'uid'>;
  readonly options: LogOptions;
  readonly signal: AbortSignal;
  /** Whether nothing more will be written: then following ends. */
  readonly isOver: () => boolean;
}

// Files are looked at rather than watched: that works on every filesystem.
const pollMs = 200;

/**
 * The output of a replica from the files that are kept of it: its last execution or the one before, whole or from
 * somewhere on. Followed, it goes on through new files and restarts until the replica is over.
 */
export class LogReader {
  constructor(private readonly parts: LogReaderParts) {}

  /** Lines of JSON as they are in the files. Throws NotFound if nothing is kept. */
  async *read(query: LogQuery): AsyncGenerator<string, void> {
    const { options } = query;
    const first = await this.#firstFile(query);
    if (first === undefined) return;
    let { at, offset } = first;
    let last: LogRecord | undefined;
    // Something was removed since the last line that was told: that is told before the next.
    let isGap = false;
    for (;;) {
      const lines = await LogLines.open(this.#path(query, at), offset);
      isGap ||= lines === undefined;
      try {
        for (;;) {
          // In this order: what was written before it was over, or before there was a later file, is read after.
          const isOver = options.isFollowed !== true || query.isOver();
          const next = (await this.#files(query)).find((file) => isNext(file, at, options));
          if (lines !== undefined)
            for await (const line of lines.more()) {
              const record = parseRecord(line);
              if (record === undefined || isBefore(record, options.sinceMs)) continue;
              if (isGap && last !== undefined) yield this.#gapAfter(last);
              isGap = false;
              last = record;
              yield line;
            }
          if (next !== undefined) {
            isGap ||= next.part !== (next.execution === at.execution ? at.part + 1 : 1);
            at = next;
            offset = 0;
            break;
          }
          if (isOver || query.signal.aborted) {
            if (isGap && last !== undefined) yield this.#gapAfter(last);
            return;
          }
          await this.parts.env.sleep(pollMs, query.signal).catch(() => undefined);
        }
      } finally {
        await lines?.close();
      }
    }
  }

  async #firstFile(query: LogQuery): Promise<{ at: LogFile; offset: number } | undefined> {
    const { options, signal } = query;
    for (;;) {
      const isOver = query.isOver();
      const all = await this.#files(query);
      const executions = [...new Set(all.map(({ execution }) => execution))];
      const execution = executions.at(options.isPrevious === true ? -2 : -1);
      const files = all.filter((file) => file.execution === execution);
      const [first] = files;
      if (first !== undefined)
        return options.tailLines === undefined
          ? { at: first, offset: 0 }
          : this.#tailStart(query, files, options.tailLines);
      if (options.isPrevious === true)
        throw new BerthError(
          'NotFound',
          `no execution before the last one of ${query.replica.replica} is kept`,
        );
      if (options.isFollowed !== true || isOver)
        throw new BerthError('NotFound', `no output of ${query.replica.replica} is kept on its node`);
      if (signal.aborted) return undefined;
      await this.parts.env.sleep(pollMs, signal).catch(() => undefined);
    }
  }

  async #tailStart(
    query: LogQuery,
    files: readonly LogFile[],
    tailLines: number,
  ): Promise<{ at: LogFile; offset: number } | undefined> {
    let wanted = tailLines;
    let start: { at: LogFile; offset: number } | undefined;
    for (const at of files.toReversed()) {
      const handle = await open(this.#path(query, at), 'r').catch(() => undefined);
      if (handle === undefined) break;
      const { offset, found } = await tailOffset(handle, wanted).finally(() => void handle.close());
      start = { at, offset };
      wanted -= found;
      if (wanted <= 0) break;
    }
    return start;
  }

  async #files({ replica }: LogQuery): Promise<LogFile[]> {
    try {
      return logFilesOf(await readdir(logDirectory(this.parts.dir, replica)));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
  }

  #path({ replica }: LogQuery, file: LogFile): string {
    return join(logDirectory(this.parts.dir, replica), logFileName(file));
  }

  #gapAfter(last: LogRecord): string {
    const { base64: _, partial: __, ...labels } = last;
    const time = wallTimestamp(this.parts.env.clock.wall());
    const message = 'some output was removed before it was read';
    return JSON.stringify({ ...labels, time, stream: 'berth', message } satisfies LogRecord);
  }
}

/** Whether this is what is read after the file: a later part, and for who follows also a later execution. */
const isNext = (file: LogFile, at: LogFile, { isFollowed, isPrevious }: LogOptions): boolean =>
  inOrder(file, at) > 0 && (file.execution === at.execution || (isFollowed === true && isPrevious !== true));

const isBefore = ({ time }: LogRecord, sinceMs: number | undefined): boolean =>
  sinceMs !== undefined && Date.parse(time) < sinceMs;

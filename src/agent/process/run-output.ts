import { closeSync } from 'node:fs';
import { join } from 'node:path';
import type { Env } from '../../env/env.js';
import type { LogLabels } from '../../model/log-record.js';
import type { OpenLog } from '../runner.js';
import { openForReading, outputNames, readNow, streamOf } from './output-pipes.js';

// What a job has said arrives at once when it is over; a process that escaped may hold its pipe for ever.
const restMsMax = 1_000;

/** What one run says, on its way from its pipes into its log. */
export class RunOutput {
  readonly #descriptors: { readonly [name in (typeof outputNames)[number]]: number };
  #closing: ((isEarly: boolean) => Promise<void>) | undefined;
  #isRead = false;

  constructor(
    private readonly parts: {
      readonly dir: string;
      readonly labels: LogLabels;
      readonly openLog: OpenLog;
      readonly env: Env;
    },
  ) {
    const { dir } = parts;
    const stdout = openForReading(join(dir, 'stdout'));
    try {
      this.#descriptors = { stdout, stderr: openForReading(join(dir, 'stderr')) };
    } catch (error) {
      closeSync(stdout);
      throw error;
    }
  }

  /** From now on it is read and kept. */
  keep(): void {
    if (this.#isRead) return;
    this.#isRead = true;
    const streams = outputNames.map((name) => [name, streamOf(this.#descriptors[name])] as const);
    const opening = this.parts.openLog(this.parts.labels).then((log) => {
      for (const [name, stream] of streams) log.take(name, stream);
      return log;
    });
    this.#closing = async (isEarly) => {
      if (isEarly) for (const [, stream] of streams) stream.destroy();
      await (await opening).close();
    };
  }

  /** It is over before anything was kept: the last words of what was to start it. */
  lastWords(): string {
    this.#isRead = true;
    closeSync(this.#descriptors.stdout);
    return readNow(this.#descriptors.stderr);
  }

  /** When everything it said is in its log. What was never to be kept is closed at once. */
  async close(): Promise<void> {
    if (!this.#isRead) for (const name of outputNames) closeSync(this.#descriptors[name]);
    this.#isRead = true;
    const closing = this.#closing;
    if (closing === undefined) return;
    const late = this.parts.env.after(restMsMax, () => void closing(true));
    await closing(false);
    late.cancel();
  }
}

import type { Env } from '../../env/env.js';
import { bytesOf, parseRecord } from '../../model/log-record.js';
import type { LogLabels } from '../../model/log-record.js';
import type { KeptLogs } from '../logs/kept-logs.js';
import type { LogWriter } from '../logs/log-writer.js';
import type { ContainerEngine } from './container-engine.js';
import { StreamFrames, timedLine } from './stream-frames.js';

export interface LogPumpParts {
  readonly engine: Pick<ContainerEngine, 'logs'>;
  readonly logs: Pick<KeptLogs, 'open' | 'read'>;
  readonly env: Env;
}

/** How far a log has been taken: the time of the last line, and how many bytes of that very time. */
interface Taken {
  timeMs: number;
  readonly bytes: { stdout: number; stderr: number };
}

const againMs = 1_000;
// After the container has ended what it wrote is there; an engine that goes on following is not waited for.
const lastMs = 2_000;
// So many lines are looked at to see how far a log has come, and ten times as many while all are of one time.
const rememberedFirst = 10_000;

/**
 * Takes the output of a container from its engine into the log of its replica. The engine's own time of each line says how
 * far it has come, so that after a restart of the agent nothing is missing and nothing is there twice.
 */
export class LogPump {
  readonly #stop = new AbortController();
  readonly #following: Promise<void>;

  private constructor(
    private readonly parts: LogPumpParts,
    private readonly container: string,
    private readonly writer: LogWriter,
    private readonly taken: Taken,
  ) {
    this.#following = this.#follow();
  }

  static async open(parts: LogPumpParts, container: string, labels: LogLabels): Promise<LogPump> {
    const taken = await takenSoFar(parts.logs, labels);
    return new LogPump(parts, container, await parts.logs.open(labels), taken);
  }

  /** When the container has ended: takes the rest of it. */
  async finish(): Promise<void> {
    const timer = this.parts.env.after(lastMs, () => this.#stop.abort());
    await this.#following;
    timer.cancel();
    await this.#take(false, new AbortController().signal).catch(() => undefined);
    await this.writer.close();
  }

  /** Leaves the rest to the next life of the agent. */
  async leave(): Promise<void> {
    this.#stop.abort();
    await this.#following;
    await this.writer.close();
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        // It ends when the container has.
        return await this.#take(true, signal);
      } catch {
        // The engine is away, or was asked to stop following: it is asked again from where it was.
        await this.parts.env.sleep(againMs, signal).catch(() => undefined);
      }
    }
  }

  async #take(isFollowed: boolean, signal: AbortSignal): Promise<void> {
    const { engine } = this.parts;
    const since = Math.floor(this.taken.timeMs / 1_000);
    const response = await engine.logs(this.container, since, isFollowed, signal);
    const frames = new StreamFrames();
    // Of the last time that was taken, so much comes again.
    const again = { ...this.taken.bytes };
    const fromMs = this.taken.timeMs;
    for await (const chunk of response as AsyncIterable<Buffer>)
      for (const { stream, bytes } of frames.take(chunk)) {
        const line = timedLine(bytes);
        const timeMs = line === undefined ? Number.NaN : Date.parse(line.time);
        if (line === undefined || timeMs < fromMs) continue;
        const skipped = timeMs === fromMs ? Math.min(again[stream], line.rest.length) : 0;
        again[stream] -= skipped;
        if (skipped === line.rest.length) continue;
        this.#note(timeMs, stream, line.rest.length - skipped);
        if (!this.writer.write(stream, line.rest.subarray(skipped), line.time)) await this.writer.drained();
      }
  }

  #note(timeMs: number, stream: 'stdout' | 'stderr', count: number): void {
    const { taken } = this;
    if (timeMs > taken.timeMs) {
      taken.timeMs = timeMs;
      taken.bytes.stdout = 0;
      taken.bytes.stderr = 0;
    }
    taken.bytes[stream] += count;
  }
}

/** How far the log of an execution came before this agent was started. */
async function takenSoFar(logs: Pick<KeptLogs, 'read'>, labels: LogLabels): Promise<Taken> {
  for (let tailLines = rememberedFirst; ; tailLines *= 10) {
    const { taken, isAll } = await takenIn(logs, labels, tailLines);
    if (isAll) return taken;
  }
}

async function takenIn(
  logs: Pick<KeptLogs, 'read'>,
  { tenant, replica, uid, execution }: LogLabels,
  tailLines: number,
): Promise<{ readonly taken: Taken; readonly isAll: boolean }> {
  const taken: Taken = { timeMs: 0, bytes: { stdout: 0, stderr: 0 } };
  let firstMs: number | undefined;
  let lines = 0;
  const query = {
    replica: { tenant, replica, uid },
    ...{ options: { tailLines }, isOver: () => true, signal: new AbortController().signal },
  };
  try {
    for await (const line of logs.read(query)) {
      lines += 1;
      const record = parseRecord(line);
      if (record === undefined || record.stream === 'berth' || record.execution !== execution) continue;
      const timeMs = Date.parse(record.time);
      firstMs ??= timeMs;
      if (timeMs > taken.timeMs) Object.assign(taken.bytes, { stdout: 0, stderr: 0 });
      taken.timeMs = Math.max(taken.timeMs, timeMs);
      if (timeMs === taken.timeMs) taken.bytes[record.stream] += bytesOf(record).length;
    }
  } catch {
    // Nothing is kept: all of it comes.
  }
  // Of the last time there may be more before what was looked at.
  return { taken, isAll: lines < tailLines || firstMs === undefined || firstMs < taken.timeMs };
}

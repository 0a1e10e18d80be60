import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ProcessRunner } from '../agent/drivers/process-runner.js';
import type { Launch, RunEnd, RunnerEvent } from '../agent/runner.js';
import type { UserOf } from '../agent/supervisor/run-spec.js';
import { plusMs } from '../env/instant.js';
import { realEnv } from '../env/real.js';
import type { Template } from '../model/parts/template.js';
import { scratchDirectory } from '../../testing/scratch.js';
import { openProcessRunner } from './process-runner.js';

export const env = realEnv();

/** Waits until something is there. Whoever waits for what never comes fails by its own name. */
export async function until<T>(what: string, look: () => T | undefined | false, forMs = 60_000): Promise<T> {
  for (let waitedMs = 0; waitedMs < forMs; waitedMs += 20) {
    const found = look();
    if (found !== undefined && found !== false) return found;
    await env.sleep(20);
  }
  throw new Error(`never came: ${what}`);
}

export interface LaunchOptions {
  readonly execution?: number;
  readonly isFenced?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  readonly template?: Partial<Template>;
}

export function launch(uid: string, command: readonly string[], options: LaunchOptions = {}): Launch {
  const { execution = 1, isFenced = false, template = {} } = options;
  return {
    binding: {
      ...{ replica: { tenant: 't', name: `w-${uid}-1`, uid }, workload: 'w', slot: '0', revision: 'w-r1' },
      ...{ fence: '7', type: 'Service', isFenced, stage: 'Bound', version: 10 },
      template: { run: { process: { command: [...command] } }, ...template },
    },
    ...{ execution, command, args: undefined, env: options.env ?? {} },
  };
}

export const shell = (text: string): string[] => ['/bin/sh', '-c', text];

/** An agent's directory with a runner on it, and what the runner told. */
export class RunnerHome {
  readonly #scratch = scratchDirectory('runner');
  readonly events: RunnerEvent[] = [];
  readonly problems: string[] = [];
  journalsLost = 0;
  readonly #opened: ProcessRunner[] = [];

  get dir(): string {
    return this.#scratch.path;
  }

  /** As another life of the agent does. */
  async open(userOf?: UserOf): Promise<ProcessRunner> {
    const runner = await openProcessRunner({
      ...{ dir: this.dir, node: 'n1', env, onProblem: (message: string) => void this.problems.push(message) },
      onJournalLost: () => void (this.journalsLost += 1),
      ...(userOf !== undefined && { userOf }),
    });
    this.#opened.push(runner);
    runner.attach((event) => this.events.push(event));
    return runner;
  }

  running(uid: string, execution = 1): Promise<number> {
    return until(`${uid} runs`, () => {
      const told = this.events.find(
        (event) => event.kind === 'Running' && event.uid === uid && event.execution === execution,
      );
      return told?.kind === 'Running' ? Number(told.driverId) : undefined;
    });
  }

  ended(uid: string, execution = 1): Promise<RunEnd> {
    return until(`${uid} ends`, () => {
      const told = this.events.find(
        (event) => event.kind === 'Ended' && event.uid === uid && event.execution === execution,
      );
      return told?.kind === 'Ended' ? told.end : undefined;
    });
  }

  /** What a job has written to a file of its scratch directory. */
  file(uid: string, name: string): string | undefined {
    try {
      return readFileSync(join(this.dir, 'scratch', uid, name), 'utf8');
    } catch {
      return undefined;
    }
  }

  async close(): Promise<void> {
    for (const runner of this.#opened.slice(0, -1)) await runner.close();
    await this.#opened.at(-1)?.end(0);
    this.#scratch.remove();
  }
}

/** Until so many seconds from now, as a renewal would. */
export function permitFor(seconds: number, graceSeconds = 1) {
  const overAt = plusMs(env.clock.boot(), seconds * 1_000);
  return { startUntil: plusMs(overAt, -graceSeconds * 1_000), killAt: plusMs(overAt, -200), overAt };
}

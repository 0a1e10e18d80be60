import { join } from 'node:path';
import { expect, vi } from 'vitest';
import type { Ran } from '../../testing/run-process.js';
import { scratchDirectory } from '../../testing/scratch.js';
import { type RunOptions, startBerth } from './berth.fixture.js';

/** `berth up` with nodes that run nothing, as a person starts it, and the program run against it. */
export interface Up {
  run(words: string, options?: RunOptions): Promise<Ran>;
  /** A command that goes on. */
  start(words: readonly string[]): ReturnType<typeof startBerth>;
  /** The same for a command that must succeed; gives what it printed. */
  ok(words: string, options?: RunOptions): Promise<string>;
  /** What it has said so far. */
  said(): string;
  close(): Promise<void>;
}

export async function startUp(...more: readonly string[]): Promise<Up> {
  const scratch = scratchDirectory('up');
  const dir = join(scratch.path, 'data');
  const up = startBerth(['up', '--dir', dir, '--port', '0', ...more], { cwd: scratch.path });
  await vi.waitFor(() => expect(up.printed()).toContain('ready '), { timeout: 60_000, interval: 100 });
  const env = { BERTH_CONFIG: join(dir, 'kubeconfig') };
  const start = (words: readonly string[], options: RunOptions = {}): ReturnType<typeof startBerth> =>
    startBerth(words, { cwd: scratch.path, ...options, env });
  const run: Up['run'] = (words, options) => start(words.split(' '), options).ended;
  return {
    ...{ run, start },
    said: up.printed,
    ok: async (words, options) => {
      const { status, stdout, stderr } = await run(words, options);
      if (status !== 0) throw new Error(`berth ${words} ended with ${status}: ${stdout}${stderr}`);
      return stdout;
    },
    close: async () => {
      up.child.kill('SIGTERM');
      await up.ended;
      scratch.remove();
    },
  };
}

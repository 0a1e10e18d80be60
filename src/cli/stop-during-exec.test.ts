import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import { workloadYaml } from './berth.fixture.js';
import { startUp } from './up.fixture.js';

const soon = { timeout: 60_000, interval: 100 };
const stopMsMax = 20_000;

/** Whether a process of this machine has these arguments. */
const isRunning = (...words: readonly string[]): boolean =>
  readdirSync('/proc').some((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8') === `${words.join('\0')}\0`;
    } catch {
      return false;
    }
  });

describe('berth up that is told to stop while somebody is in an exec', () => {
  it('stops, ends the command, and tells whoever is there', { timeout: 180_000 }, async () => {
    const up = await startUp();
    let isClosed = false;
    try {
      await up.ok('apply -f -', { input: workloadYaml('web', 1).replace('./web', 'sleep, "600"') });
      await vi.waitFor(async () => expect(await up.ok('get replicas')).toContain('Serving'), soon);
      // A number that nobody else sleeps for.
      const command = ['sleep', String(600_000 + process.pid)];
      const session = up.start(['exec', 'web-0-1', '--', ...command]);
      await vi.waitFor(() => expect(isRunning(...command)).toBe(true), soon);
      const startedAt = performance.now();
      await up.close();
      isClosed = true;
      expect(performance.now() - startedAt).toBeLessThan(stopMsMax);
      expect((await session.ended).status).not.toBe(0);
      await vi.waitFor(() => expect(isRunning(...command)).toBe(false), soon);
    } finally {
      if (!isClosed) await up.close();
    }
  });
});

import { describe, expect, it } from 'vitest';
import { runSeed } from './run-seed.js';
import { fence } from './scenarios/fence.js';
import { nodeSessions } from './scenarios/node-sessions.js';
import { swarm } from './scenarios/swarm.js';

/** Every event and every commit of a seed, as one text. */
async function historyOf(
  seed: number,
  scenario = swarm,
): Promise<{ readonly text: string; readonly digest: string }> {
  const lines: string[] = [];
  const { history } = await runSeed(scenario, {
    seed,
    trace: (line) => lines.push(line),
    isSafetyOnly: true,
  });
  return { text: lines.join('\n'), digest: history };
}

describe('one seed', () => {
  it('gives one history, byte for byte', async () => {
    const [first, second] = [await historyOf(11), await historyOf(11)];
    expect(first.text.length).toBeGreaterThan(100_000);
    expect(Buffer.from(first.text).equals(Buffer.from(second.text))).toBe(true);
    expect(first.digest).toBe(second.digest);
  }, 60_000);

  it('gives another history than another seed', async () => {
    expect((await historyOf(11)).digest).not.toBe((await historyOf(12)).digest);
    for (const scenario of [fence, nodeSessions])
      expect((await historyOf(1, scenario)).digest).toBe((await historyOf(1, scenario)).digest);
  }, 60_000);
});

import { describe, expect, it } from 'vitest';
import { msBetween } from '../env/instant.js';
import { VirtualTime } from '../env/virtual.js';
import { BerthError } from '../model/errors.js';
import type { Outcome, Proposal } from '../model/ports.js';
import { Outbox, type OutboxParts } from './outbox.js';
import { Patience } from './patience.js';

const proposalOf = (name: string): Proposal => ({
  actor: { kind: 'scheduler', name: 's' },
  replica: { tenant: 'a', name, uid: `uid-${name}` },
  ...{ node: 'n', nodeEpoch: { cell: 1, number: 1 }, snapshotRevision: '1', policyRevision: 'p' },
  operation: `bind/${name}`,
});
const committed: Outcome<{ fence: string }> = { kind: 'Committed', result: { fence: '1' }, revision: '2' };
const unknown: Outcome<{ fence: string }> = { kind: 'UnknownOutcome', message: 'timed out' };

type Bind = OutboxParts<string>['authority']['bind'];

/** Runs something with an outbox in virtual time; what was sent and answered, as it happened. */
async function within(
  bind: (names: readonly string[], calls: number) => ReturnType<Bind>,
  run: (outbox: Outbox<string>, sleep: (ms: number) => Promise<void>) => Promise<void>,
  more: Partial<OutboxParts<string>> = {},
): Promise<readonly string[]> {
  const world = new VirtualTime({ seed: 1 });
  const seen: string[] = [];
  let calls = 0;
  world.spawn(world.machine('m'), 'outbox', async (env) => {
    const startedAt = env.clock.monotonic();
    const nowMs = (): number => msBetween(startedAt, env.clock.monotonic());
    const outbox = new Outbox<string>({
      batching: { proposalsPerBatch: 2, batchesMax: 2 },
      authority: {
        bind: (proposals) => {
          const names = proposals.map(({ replica }) => replica.name);
          seen.push(`sent ${names.join()}`);
          return bind(names, (calls += 1));
        },
      },
      nowMs,
      patience: new Patience({ env, nowMs }),
      onAnswer: ({ about, attempts }, { kind }) => void seen.push(`${about} ${kind} ${attempts}`),
      onUnknown: ({ about }) => void seen.push(`${about} unknown`),
      isOpen: () => true,
      onNews: () => undefined,
      ...more,
    });
    await run(outbox, (ms) => env.sleep(ms));
  });
  await world.run();
  return seen;
}

const addAll = (outbox: Outbox<string>, ...names: readonly string[]): void => {
  for (const name of names) outbox.add(proposalOf(name), name);
};
const all = (outcome: Outcome<{ fence: string }>) => (names: readonly string[]) =>
  Promise.resolve(names.map(() => outcome));

describe('Outbox', () => {
  it('sends in batches, so many at once, and says how much room is left', async () => {
    const rooms: number[] = [];
    const seen = await within(all(committed), async (outbox, sleep) => {
      rooms.push(outbox.room);
      addAll(outbox, 'r1', 'r2', 'r3', 'r4', 'r5');
      rooms.push(outbox.room, Number(outbox.send()));
      await sleep(1);
      rooms.push(outbox.room, outbox.size, Number(outbox.send()));
      await sleep(1);
      rooms.push(outbox.room, outbox.size);
    });
    expect(rooms).toEqual([4, -1, 0, 3, 1, 0, 4, 0]);
    expect(seen.filter((line) => line.startsWith('sent'))).toEqual(['sent r1,r2', 'sent r3,r4', 'sent r5']);
  });

  it('sends what has no known outcome again as it was, after a while, until it is known', async () => {
    const seen = await within(
      (names, calls) => all(calls < 3 ? unknown : committed)(names),
      async (outbox, sleep) => {
        addAll(outbox, 'r1');
        for (let turn = 0; turn < 200; turn++) {
          outbox.send();
          await sleep(50);
        }
      },
    );
    expect(seen).toEqual(['sent r1', 'r1 unknown', 'sent r1', 'r1 unknown', 'sent r1', 'r1 Committed 3']);
  });

  it('reads back before it sends again: what does not matter any more is let go', async () => {
    const seen = await within(
      all(unknown),
      async (outbox, sleep) => {
        addAll(outbox, 'r1');
        outbox.send();
        await sleep(60_000);
        outbox.send();
        expect(outbox.size).toBe(0);
      },
      { isOpen: () => false },
    );
    expect(seen).toEqual(['sent r1', 'r1 unknown']);
  });

  it('waits for an authority that cannot be reached, longer each time, and has no room meanwhile', async () => {
    const away = new BerthError('ServerUnreachable', 'no way there');
    const rooms: number[] = [];
    const seen = await within(
      (names, calls) => (calls < 4 ? Promise.reject(away) : all(committed)(names)),
      async (outbox, sleep) => {
        addAll(outbox, 'r1');
        outbox.send();
        await sleep(1);
        rooms.push(outbox.room);
        for (let turn = 0; turn < 100; turn++) {
          outbox.send();
          await sleep(50);
        }
        rooms.push(outbox.room);
      },
    );
    expect(rooms).toEqual([0, 4]);
    expect(seen.filter((line) => line === 'sent r1')).toHaveLength(4);
    expect(seen.at(-1)).toMatch(/^r1 Committed/);
  });

  it('tells nobody of answers that come after it was closed', async () => {
    const seen = await within(all(committed), async (outbox, sleep) => {
      addAll(outbox, 'r1');
      outbox.send();
      outbox.close();
      await sleep(1);
    });
    expect(seen).toEqual(['sent r1']);
  });
});

import { describe, expect, it } from 'vitest';
import { VirtualTime } from '../env/virtual.js';
import { BerthError } from '../model/errors.js';
import type { BerthObject } from '../model/object.js';
import { type FollowSource, listThenWatch, type WatchEvent } from './list-then-watch.js';
import { RetryBudget } from './retry-policy.js';

const object = (name: string, version: number): BerthObject => ({
  apiVersion: 'berth.dev/v1',
  kind: 'Workload',
  metadata: { name, uid: name, resourceVersion: String(version), generation: 1, creationTimestamp: '' },
});
const added = (name: string, version: number): WatchEvent => ({
  type: 'ADDED',
  object: object(name, version),
});

type Connection = readonly (WatchEvent | BerthError)[];
type Lists = readonly ({ items: BerthObject[]; version: number } | BerthError)[];

/** Follows a source that lists and connects as told, until it has no more of either. */
async function follow(
  lists: Lists,
  connections: readonly Connection[],
  budget = new RetryBudget(100),
): Promise<{ log: string[]; tookMs: number; error: unknown }> {
  const world = new VirtualTime({ seed: 1 });
  const log: string[] = [];
  const stop = new AbortController();
  let listed = 0;
  let connected = 0;
  let error: unknown;
  const source: FollowSource<BerthObject> = {
    list: (notOlderThan) => {
      log.push(`list ${notOlderThan}`);
      const list = lists[listed++];
      if (list === undefined) throw new Error('one list too many');
      return list instanceof BerthError ? Promise.reject(list) : Promise.resolve(list);
    },
    async *watch(after) {
      log.push(`watch ${after}`);
      const events = connections[connected++];
      if (events === undefined) stop.abort();
      for (const event of events ?? []) {
        await Promise.resolve();
        if (event instanceof BerthError) throw event;
        yield event;
      }
    },
  };
  world.spawn(world.machine('m'), 'follow', async (env) => {
    const policy = { attemptsMax: 3, deadlineMs: 1_000, backoffMsMin: 100, backoffMsMax: 10_000, budget };
    try {
      for await (const event of listThenWatch({ env, policy }, source, stop.signal)) {
        log.push(
          event.type === 'SYNCED'
            ? `SYNCED ${event.version}`
            : `${event.type} ${event.object.metadata.name}@${event.object.metadata.resourceVersion}`,
        );
      }
    } catch (thrown) {
      error = thrown;
    }
  });
  expect((await world.run()).kind).toBe('idle');
  return { log, tookMs: world.nowMs, error };
}

const cut = new BerthError('ServerUnreachable', 'cut');
const expired = new BerthError('Expired', 'too old');

describe('list, then watch', () => {
  it('goes on after a cut at the last version that arrived, and tells nothing twice', async () => {
    const { log } = await follow(
      [{ items: [object('a', 4)], version: 5 }],
      [
        [added('b', 6), added('c', 7), cut],
        [added('c', 7), added('d', 7), { type: 'BOOKMARK', version: 12 }, cut],
      ],
    );
    expect(log).toEqual([
      'list 0',
      'ADDED a@4',
      'SYNCED 5',
      'watch 5',
      'ADDED b@6',
      'ADDED c@7',
      'watch 7',
      'ADDED d@7',
      'watch 12',
    ]);
  });

  it('lists again after Expired, not older than what it knows, and tells the difference', async () => {
    const { log } = await follow(
      [
        { items: [object('a', 4), object('b', 5)], version: 5 },
        { items: [object('b', 8), object('c', 9)], version: 10 },
      ],
      [[expired]],
    );
    expect(log.slice(5)).toEqual([
      'list 5',
      'DELETED a@4',
      'MODIFIED b@8',
      'ADDED c@9',
      'SYNCED 10',
      'watch 10',
    ]);
  });

  it('backs off from a server that is down, and is quick again once anything arrives', async () => {
    const down = Array.from({ length: 6 }, (): Connection => [cut]);
    const long = await follow([{ items: [], version: 1 }], down);
    expect(long.tookMs).toBeGreaterThan(3_000);
    const alive = Array.from({ length: 6 }, (_, index): Connection => [added('a', index + 2), cut]);
    expect((await follow([{ items: [], version: 1 }], alive)).tookMs).toBeLessThan(1_300);
  });

  it('does not spend the budget on watches that end as agreed, and takes those that end at once for failures', async () => {
    const budget = new RetryBudget(4);
    const agreed = Array.from({ length: 6 }, (_, index): Connection => [added('a', index + 2)]);
    await follow([{ items: [], version: 1 }], agreed, budget);
    expect(budget.left).toBe(4);
    const empty = Array.from({ length: 6 }, (): Connection => []);
    expect((await follow([{ items: [], version: 1 }], empty, budget)).tookMs).toBeGreaterThan(3_000);
    expect(budget.left).toBe(0);
  });

  it('waits longest, and does not give up, when the shared budget is spent', async () => {
    const lists: Lists = [cut, cut, { items: [], version: 1 }];
    const { log, tookMs } = await follow(lists, [], new RetryBudget(0));
    expect(log).toEqual(['list 0', 'list 0', 'list 0', 'SYNCED 1', 'watch 1']);
    expect(tookMs).toBeGreaterThanOrEqual(10_000);
  });

  it('throws what trying again cannot cure', async () => {
    const { error, log } = await follow([new BerthError('Forbidden', 'no')], []);
    expect(error).toMatchObject({ code: 'Forbidden' });
    expect(log).toEqual(['list 0']);
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { VirtualTime } from '../../env/virtual.js';
import { after, again, done, type Requeue } from './requeue.js';
import { WorkQueue, type WorkQueueOptions } from './work-queue.js';

const options: WorkQueueOptions = {
  tenantOf: (key) => key.split('/')[0] ?? '',
  rate: { perSecond: 1_000, burst: 5 },
  backoff: { firstMs: 10, mostMs: 1_000 },
  keysMax: 1_000,
};

const key = fc.constantFrom('a/1', 'a/2', 'a/3', 'b/1', 'b/2', 'c/1');
const action = fc.record({ key, atMs: fc.nat(500), delayMs: fc.option(fc.nat(300), { nil: undefined }) });
const ending = fc.constantFrom<Requeue>(done, done, done, again('failed'), after(40, 'later'));

describe('WorkQueue, whatever is added and however the work ends', () => {
  it('never gives a key to two workers at once, and loses none that was added', async () => {
    const adds = fc.array(action, { maxLength: 40 });
    const endings = fc.array(ending, { minLength: 1, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(
        adds,
        endings,
        fc.integer({ min: 1, max: 4 }),
        fc.nat(1_000),
        async (asked, results, workers, seed) => {
          const world = new VirtualTime({ seed });
          const machine = world.machine('m');
          const queue = new WorkQueue(machine.env, options);
          const working = new Set<string>();
          const startedMs = new Map<string, number[]>();
          let turn = 0;
          for (let worker = 0; worker < workers; worker++) {
            world.spawn(machine, `worker ${worker}`, async (env) => {
              for (let taken = await queue.take(); taken !== undefined; taken = await queue.take()) {
                expect(working.has(taken), `${taken} is worked on twice at once`).toBe(false);
                working.add(taken);
                startedMs.set(taken, [...(startedMs.get(taken) ?? []), world.nowMs]);
                await env.sleep(env.random.integer(30));
                working.delete(taken);
                // What ends badly does so a bounded number of times: then the queue must run dry.
                queue.finish(taken, turn < results.length ? (results[turn] ?? done) : done);
                turn += 1;
              }
            });
          }
          for (const { key: wanted, atMs, delayMs } of asked) {
            machine.env.after(atMs, () => {
              expect(delayMs === undefined ? queue.add(wanted) : queue.addAfter(wanted, delayMs)).toBe(true);
            });
          }
          await world.run(60_000);
          expect(queue.size, 'a key is stuck').toBe(0);
          for (const { key: wanted, atMs } of asked) {
            const last = startedMs.get(wanted)?.at(-1) ?? -1;
            expect(last, `${wanted} was added at ${atMs} and not looked at since`).toBeGreaterThanOrEqual(
              atMs,
            );
          }
          queue.close();
          expect(await world.run()).toMatchObject({ kind: 'idle' });
        },
      ),
      { numRuns: 150 },
    );
  });

  it('lets tenants take turns: one key waits for at most one key of each other tenant', async () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 2, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(sizes, async (counts) => {
        const world = new VirtualTime({ seed: 1 });
        const queue = new WorkQueue(world.machine('m').env, options);
        for (const [tenant, count] of counts.entries())
          for (let number = 0; number < count; number++) queue.add(`t${tenant}/${number}`);
        const order: string[] = [];
        world.spawn(world.machine('worker'), 'worker', async () => {
          while (queue.size > 0) {
            const taken = (await queue.take()) ?? '';
            order.push(taken);
            queue.finish(taken, done);
          }
        });
        await world.run();
        for (const [tenant, count] of counts.entries()) {
          const places = order.flatMap((taken, at) => (taken.startsWith(`t${tenant}/`) ? [at] : []));
          expect(places).toHaveLength(count);
          for (const [turn, place] of places.entries())
            expect(place).toBeLessThan((turn + 1) * counts.length);
        }
      }),
      { numRuns: 50 },
    );
  });
});

import { describe, expect, it } from 'vitest';
import { VirtualTime, type VirtualMachine } from '../../env/virtual.js';
import type { Authority, Outcome } from '../../model/ports.js';
import { FakeLeases } from './fake-leases.fixture.js';
import { FakeObjects } from '../../model/fake-objects.fixture.js';
import type { LeadingTerm } from '../../model/ports.js';
import { Leadership, type LeadershipParts } from './leadership.js';

type Leases = Pick<Authority, 'takeLease' | 'renew' | 'resign'>;
const unknown: Outcome<never> = { kind: 'UnknownOutcome', message: 'timed out' };

function open() {
  const world = new VirtualTime({ seed: 1 });
  const objects = new FakeObjects();
  const leases = new FakeLeases(objects);
  const log: string[] = [];
  const start = (name: string, changed: Partial<LeadershipParts> = {}) => {
    const machine: VirtualMachine = world.machine(name);
    const stop = new AbortController();
    const leadership = new Leadership({
      ...{ authority: leases, objects, env: machine.env, lease: 'work', holder: name, durationSeconds: 15 },
      ...changed,
    });
    const terms: LeadingTerm[] = [];
    const endings: number[] = [];
    world.spawn(machine, name, () =>
      leadership.run(async (term) => {
        terms.push(term);
        log.push(`${name} leads as ${term.epoch.number}`);
        await new Promise<void>((resolve) => {
          if (term.signal.aborted) resolve();
          term.signal.addEventListener('abort', () => resolve(), { once: true });
        });
        endings.push(world.nowMs);
        log.push(`${name} stops as ${term.epoch.number}`);
      }, stop.signal),
    );
    return { machine, stop, terms, endings, leadership };
  };
  return { world, objects, leases, log, start };
}

/** Leases that one process reaches only while the link is up. */
function linked(leases: Leases, link: { isUp: boolean; loses?: 'Request' | 'Reply' }): Leases {
  const over =
    <I, T>(call: (input: I) => Promise<Outcome<T>>) =>
    async (input: I): Promise<Outcome<T>> => {
      if (link.isUp) return call(input);
      if (link.loses === 'Reply') await call(input);
      return unknown;
    };
  return {
    takeLease: over((input) => leases.takeLease(input)),
    renew: over((input) => leases.renew(input)),
    resign: over((input) => leases.resign(input)),
  };
}

describe('Leadership', () => {
  it('takes a lease that nobody has at once, renews it every third of its duration, and resigns when stopped', async () => {
    const { world, leases, start, log } = open();
    const first = start('first');
    await world.run(60_000);
    expect(first.terms).toHaveLength(1);
    expect(first.leadership.isLeading).toBe(true);
    expect(leases.renewals).toBeGreaterThanOrEqual(11);
    expect(leases.renewals).toBeLessThanOrEqual(12);
    const second = start('second');
    world.machine('stopper').env.after(1_000, () => first.stop.abort());
    await world.run(63_000);
    expect(second.terms, 'a lease that was given up need not be waited for').toHaveLength(1);
    expect(log).toEqual(['first leads as 1', 'first stops as 1', 'second leads as 2']);
  });

  it('waits for the lease of another to stand unchanged for its duration, from when it first saw it', async () => {
    const { world, leases, start } = open();
    await leases.takeLease({ operation: 'x', name: 'work', holder: 'gone', durationSeconds: 15 });
    const second = start('second');
    await world.run(14_900);
    expect(second.terms).toHaveLength(0);
    await world.run(17_000);
    expect(second.terms.map(({ epoch }) => epoch.number)).toEqual([2]);
    expect(leases.taken.at(-1)?.unchangedSince).toBe(1);
  });

  it('never leads while another renews', async () => {
    const { world, leases, start, log } = open();
    start('first');
    const second = start('second');
    await world.run(600_000);
    expect(second.terms.length + leases.taken.length).toBeGreaterThan(0);
    expect(log).toHaveLength(1);
  });

  it.each(['Request', 'Reply'] as const)(
    'gives up before another can take over when its %ss get lost, and leads again under a new epoch',
    async (loses) => {
      const { world, leases, start, log } = open();
      const link = { isUp: true, loses };
      const first = start('first', { authority: linked(leases, link) });
      await world.run(1_000);
      const second = start('second');
      world.machine('cable').env.after(30_000, () => {
        link.isUp = false;
      });
      await world.run(200_000);
      if (loses === 'Request') {
        expect(log.slice(0, 3)).toEqual(['first leads as 1', 'first stops as 1', 'second leads as 2']);
        expect(first.endings[0]).toBeLessThanOrEqual(30_000 + 12_000);
      } else {
        // Its renewals arrive although it never hears so: it cannot count on them, and stops all the same.
        expect(log[1]).toBe('first stops as 1');
      }
      link.isUp = true;
      second.stop.abort();
      await world.run(400_000);
      expect(first.terms.length).toBeGreaterThan(1);
      expect(first.terms[0]?.signal.aborted).toBe(true);
      expect(first.terms.at(-1)?.signal.aborted).toBe(false);
      expect(first.terms.at(-1)?.epoch.number).toBeGreaterThan(1);
    },
  );

  it('counts a renewal from when it was sent, not from when it was answered', async () => {
    const { world, leases, start } = open();
    const { env } = world.machine('network');
    let isSlow = false;
    const first = start('first', {
      authority: {
        takeLease: (input) => leases.takeLease(input),
        resign: (input) => leases.resign(input),
        renew: async (input) => {
          if (isSlow) return new Promise(() => undefined);
          await env.sleep(1_000);
          return leases.renew(input);
        },
      },
    });
    await world.run(7_000);
    expect(leases.renewals).toBe(1);
    isSlow = true;
    await world.run(60_000);
    // Sent at 5 s, answered at 6 s, given up a fifth of the duration before another may take it.
    expect(first.endings[0]).toBeCloseTo(17_000, 0);
  });

  it('stops at once when a renewal is rejected, and not when it only has to be sent again', async () => {
    const { world, leases, start, objects } = open();
    let contended = 2;
    const first = start('first', {
      authority: {
        takeLease: (input) => leases.takeLease(input),
        resign: (input) => leases.resign(input),
        renew: async (input) => {
          contended -= 1;
          if (contended < 0) return leases.renew(input);
          return { kind: 'Rejected', reason: 'Contended', message: '', revision: objects.version };
        },
      },
    });
    await world.run(40_000);
    expect(first.endings).toEqual([]);
    await leases.takeLease({
      ...{ operation: 'x', name: 'work', holder: 'thief', durationSeconds: 15 },
      unchangedSince: 'Alone',
    });
    await world.run(46_000);
    expect(first.endings).toHaveLength(1);
    expect(first.endings[0]).toBeLessThanOrEqual(45_000);
  });

  it('ends the term of one who learns that its epoch is over', async () => {
    const { world, start } = open();
    const first = start('first');
    await world.run(3_000);
    first.terms[0]?.giveUp('StaleEpoch');
    await world.run(30_000);
    expect(first.endings).toEqual([3_000]);
    expect(first.terms.map(({ epoch }) => epoch.number)).toEqual([1, 2]);
  });

  it('takes the lease of the one before it at once where no other process can reach the store', async () => {
    const { world, leases, start } = open();
    await leases.takeLease({ operation: 'x', name: 'work', holder: 'killed', durationSeconds: 15 });
    const first = start('first', { isAlone: true });
    await world.run(10);
    expect(first.terms.map(({ epoch }) => epoch.number)).toEqual([2]);
  });

  it('sends a take whose outcome is not known again under the same id, and gets its first result', async () => {
    const { world, leases, start } = open();
    const link = { isUp: false, loses: 'Reply' as const };
    const first = start('first', { authority: linked(leases, link), isAlone: true });
    world.machine('cable').env.after(2_500, () => {
      link.isUp = true;
    });
    await world.run(6_000);
    expect(first.terms.map(({ epoch }) => epoch.number)).toEqual([1]);
    expect(new Set(leases.taken.map(({ operation }) => operation)).size).toBe(1);
    expect(leases.taken.length).toBeGreaterThan(1);
  });

  it('whose take was committed and not answered leads as soon as it is, and counts from when it was sent first', async () => {
    const { world, leases, start, log } = open();
    const link = { isUp: false, loses: 'Reply' as const };
    const first = start('first', { authority: linked(leases, link) });
    start('second');
    world.machine('cable').env.after(2_500, () => {
      link.isUp = true;
    });
    await world.run(4_000);
    expect(log, 'nobody has to wait for a lease that is its own').toEqual(['first leads as 1']);
    // From now on no renewal is answered: it stops before another may take what it took at first.
    link.isUp = false;
    leases.renew = async () => unknown;
    await world.run(14_000);
    expect(first.endings[0]).toBeLessThanOrEqual(12_000);
  });

  it('that learns of its take when the lease has nearly run out waits for it like for that of another', async () => {
    const { world, leases, start } = open();
    const link = { isUp: false, loses: 'Reply' as const };
    const first = start('first', { authority: linked(leases, link) });
    world.machine('cable').env.after(13_000, () => {
      link.isUp = true;
    });
    await world.run(14_500);
    expect(first.terms).toHaveLength(0);
    await world.run(20_000);
    expect(first.terms.map(({ epoch }) => epoch.number)).toEqual([2]);
  });

  it('ends with the error of who leads, after it has given the lease up', async () => {
    const { world, objects, leases } = open();
    const { env } = world.machine('m');
    const leadership = new Leadership({ authority: leases, objects, env, lease: 'work', holder: 'm' });
    let message = '';
    world.spawn(world.machine('n'), 'n', async () => {
      await leadership
        .run(() => Promise.reject(new Error('broken')), new AbortController().signal)
        .catch((error: unknown) => {
          message = (error as Error).message;
        });
    });
    expect(await world.run()).toMatchObject({ kind: 'idle' });
    expect(message).toBe('broken');
    expect(objects.get('Lease', undefined, 'work')).toMatchObject({ spec: { holder: '' } });
  });
});

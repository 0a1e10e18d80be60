import { beforeEach, describe, expect, it } from 'vitest';
import { answer, done, type WorkloadOptions } from '../commit/test-cell.fixture.js';
import type { Replica } from '../model/kinds/replica.js';
import type { BerthObject } from '../model/object.js';
import { builtinPolicy } from '../model/policy.js';
import { gangMember, gangView } from '../propose/cell-gangs.js';
import { GangPlanning } from '../propose/gang-planning.js';
import { PreemptionPlanner } from '../propose/preemption.js';
import { gangHoldSeconds, type GangStep, nextGangSteps } from '../propose/gangs.js';
import { openPreemptingCell, type PreemptingCell } from './preempting-cell.fixture.js';

const high = { priorityClassName: 'high' };
const spreadOverZones = { placement: { spread: [{ topology: 'Zone', maxSkew: 1 }] } };

describe('gangs, carried out by the real authority', () => {
  let world: PreemptingCell;
  let byUid: Map<string, Replica>;
  let nowMs: number;

  const makeGang = async (name: string, count: number, asks: object, options: WorkloadOptions) => {
    const { cell } = world;
    const gang = await cell.create('Gang', 'shop', name, {
      workload: name,
      minAvailable: count,
      members: count,
    });
    const workload = await cell.workload('shop', name, asks, { replicas: count, ...options });
    const members: Replica[] = [];
    for (let slot = 0; slot < count; slot++)
      members.push(await cell.incarnate(workload, String(slot), 1, { gang: name }));
    for (const member of members) byUid.set(member.metadata.uid, member);
    return { gang, members };
  };

  const place = async (name: string, node: string, asks: object): Promise<Replica> => {
    const replica = await world.cell.incarnate(await world.cell.workload('shop', name, asks));
    byUid.set(replica.metadata.uid, replica);
    await world.bindAndStart(replica, node);
    return replica;
  };

  const stepsOf = (gang: BerthObject, members: readonly Replica[], others: readonly BerthObject[] = []) => {
    const { picture, view, pendingOf } = world;
    const planning = {
      ...{ cell: picture, planner: new PreemptionPlanner(view) },
      options: { policy: builtinPolicy, seed: 1, ages: () => 0 },
    };
    const viewOf = ({ metadata: { name } }: BerthObject) => {
      const found = gangView(picture, 'shop', name, 0);
      if (found === undefined) throw new Error(`no gang ${name}`);
      return found;
    };
    return nextGangSteps(
      viewOf(gang),
      members.flatMap((member) => gangMember(picture, pendingOf(member)) ?? []),
      {
        nowMs,
        jitter: 0,
        curedByTime: [],
        reserving: others.map(viewOf).filter(({ state }) => state === 'Reserving'),
        plan: (replicas, atLeast) =>
          new GangPlanning(planning, replicas, atLeast).goOn({
            ...{ version: '1', ageMs: 0, mayGoOn: () => true },
          }) ?? { kind: 'NotReady' },
      },
    );
  };

  /** As a scheduler does; what it came to, in words. */
  const carryOut = async (gang: BerthObject, step: GangStep): Promise<string> => {
    const { cell } = world;
    switch (step.kind) {
      case 'Move':
        return `${step.to}: ${answer(
          await cell.authority.moveGang({
            actor: cell.actors.scheduler,
            tenant: 'shop',
            gang: gang.metadata.name,
            uid: gang.metadata.uid,
            to: step.to,
            operation: cell.operation('gang'),
          }),
        )}`;
      case 'Reserve': {
        const { replica, node } = step.placement;
        const victims = 'victims' in step.placement ? step.placement.victims : [];
        const outcome = await cell.reserve(byUid.get(replica.uid) as Replica, node, {
          intent: 'Gang',
          deadlineSeconds: gangHoldSeconds,
          victims,
        });
        const shown = victims.length === 0 ? '' : ` for ${victims.map(({ name }) => name).join(', ')}`;
        return `hold ${replica.name} on ${node}${shown}: ${answer(outcome)}`;
      }
      case 'Bind':
        await world.bindAndStart(byUid.get(step.placement.replica.uid) as Replica, step.placement.node);
        return `bind ${step.placement.replica.name}`;
      case 'ReleaseHold':
        return `release: ${answer(await cell.releaseHold('shop', step))}`;
      case 'Place':
        return `place ${step.replica.name}`;
      case 'Wait':
        return `wait: ${step.reason}`;
      case 'Look':
        return 'look again';
    }
  };
  const go = async (gang: BerthObject, members: readonly Replica[], others: readonly BerthObject[] = []) => {
    const said: string[] = [];
    for (const step of stepsOf(gang, members, others)) said.push(await carryOut(gang, step));
    return said;
  };

  beforeEach(async () => {
    world = await openPreemptingCell();
    byUid = new Map();
    nowMs = 100_000;
    const { cell } = world;
    await cell.create('Region', undefined, 'eu', { jurisdiction: 'EU', zones: ['a', 'b'] });
    await cell.tenant('shop');
    for (const [node, zone] of Object.entries({ a1: 'a', a2: 'a', b1: 'b', b2: 'b' }))
      await cell.node(node, { region: 'eu', zone });
  });

  it('makes room with several victims on several nodes, spread, and starts together', async () => {
    const victims = [
      await place('a1-half', 'a1', { cpu: '4' }),
      await place('a1-rest', 'a1', { cpu: '4' }),
      await place('a2-all', 'a2', { cpu: '8' }),
      await place('b1-half', 'b1', { cpu: '4' }),
      await place('b1-rest', 'b1', { cpu: '3' }),
    ];
    // One node is free for one member; spread sends no more than one more to its zone than to the other.
    const { gang, members } = await makeGang('train', 4, { cpu: '7' }, { ...high, ...spreadOverZones });
    const said = await go(gang, members);
    expect(said[0]).toBe('Reserving: Committed');
    expect(said[1]).toBe('hold train-0-1 on b2: Committed');
    expect(
      said
        .slice(2)
        .map((one) => one.replace(/ on .*/, ''))
        .toSorted(),
    ).toEqual(['hold train-1-1', 'hold train-2-1', 'hold train-3-1']);
    expect(said.slice(1).every((one) => one.endsWith(': Committed'))).toBe(true);
    // Holds await what victims free: nothing is committed, nobody is asked a second time.
    expect(await go(gang, members)).toEqual(['wait: NodeFull']);
    for (const victim of victims)
      expect((await world.cell.status(victim)).stage, victim.metadata.name).toBe('Releasing');
    for (const victim of victims) done(await world.cell.report(victim, 'Released'));
    expect(await go(gang, members)).toEqual(['Committed: Committed']);
    expect((await go(gang, members)).toSorted()).toEqual([0, 1, 2, 3].map((slot) => `bind train-${slot}-1`));
    expect(await go(gang, members)).toEqual([]);
    const nodes = await Promise.all(members.map(async (one) => (await world.cell.status(one)).binding?.node));
    expect(new Set(nodes)).toEqual(new Set(['a1', 'a2', 'b1', 'b2']));
  });

  it('[L10] starts where two members take the place of one victim: what that frees beyond the need of the first is for the second', async () => {
    const guests: Replica[] = [];
    for (const node of ['a1', 'a2', 'b1', 'b2']) guests.push(await place(`${node}-all`, node, { cpu: '8' }));
    const { gang, members } = await makeGang('train', 4, { cpu: '4' }, high);
    expect(await go(gang, members)).toEqual([
      'Reserving: Committed',
      expect.stringMatching(/^hold train-0-1 on .*: Committed$/),
      expect.stringMatching(/^hold train-2-1 on .*: Committed$/),
    ]);
    expect(await go(gang, members)).toEqual(['wait: NodeFull']);
    let leave = 0;
    for (const guest of guests) {
      if ((await world.cell.status(guest)).stage !== 'Releasing') continue;
      done(await world.cell.report(guest, 'Released'));
      leave += 1;
    }
    expect(leave).toBe(2);
    expect(await go(gang, members)).toEqual([
      expect.stringMatching(/^hold train-1-1 on .*: Committed$/),
      expect.stringMatching(/^hold train-3-1 on .*: Committed$/),
    ]);
    expect(await go(gang, members)).toEqual(['Committed: Committed']);
  });

  it('asks nobody to leave if not all would find a place', async () => {
    const fill = await place('fill', 'a1', { cpu: '8' });
    await place('other', 'b1', { cpu: '8' });
    const { gang, members } = await makeGang('train', 5, { cpu: '7' }, { ...high, ...spreadOverZones });
    expect(await go(gang, members)).toEqual(['wait: NodeFull']);
    expect((await world.cell.status(fill)).stage).toBe('Ready');
    expect(members.some((one) => world.picture.isAssumed(world.pendingOf(one)))).toBe(false);
  });

  it('one of two that compete reserves at a time; one that cannot complete gives all back and backs off', async () => {
    const { cell } = world;
    const first = await makeGang('first', 3, { cpu: '7' }, {});
    const second = await makeGang('second', 3, { cpu: '7' }, {});
    const steps = stepsOf(first.gang, first.members);
    // All but one of its holds, and then a node is gone for it.
    for (const step of steps.slice(0, -1)) await carryOut(first.gang, step);
    expect(await go(second.gang, second.members, [first.gang])).toEqual(['wait: GangIncomplete']);
    for (const node of ['a1', 'a2', 'b1', 'b2']) await cell.set('Node', node, { unschedulable: true });
    world.picture.unassume(world.pendingOf(first.members[2] as Replica));
    expect(await go(first.gang, first.members)).toEqual(['Released: Committed']);
    expect(await go(first.gang, first.members)).toEqual(['release: Committed', 'release: Committed']);
    expect(await go(first.gang, first.members)).toEqual(['Waiting: Committed']);
    nowMs = 0;
    expect(await go(first.gang, first.members)).toEqual(['wait: GangIncomplete']);
    for (const node of ['a1', 'a2', 'b1', 'b2']) await cell.set('Node', node, { unschedulable: false });
    expect(await go(second.gang, second.members, [first.gang])).toHaveLength(4);
    expect(await go(second.gang, second.members)).toEqual(['Committed: Committed']);
  });
});

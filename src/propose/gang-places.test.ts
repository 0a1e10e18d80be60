import { describe, expect, it } from 'vitest';
import { type GangPause, gangPlaces, type GangPlacers } from './gang-places.js';
import type { GangPlan } from './gangs.js';
import { occupant, occupiedNode, pendingOf, plainCell, plainDraft } from './plain-cell.fixture.js';
import { PreemptionPlanner } from './preemption.js';

const members = pendingOf('bank/train', 4).map((member) => ({ ...member, gang: 'train' }));
const epoch = { cell: 1, number: 1 };

/** Four nodes in two zones, each with one that leaves if asked to; so many members fit without that. */
function placers(fit: number, perDomainMax = 4) {
  const undone: string[] = [];
  const nodes = ['n1', 'n2', 'n3', 'n4'].map((name) =>
    occupiedNode(name, {
      offers: { cpu: '4' },
      running: [occupant(`guest-${name}`, { amount: { cpu: '4' } })],
    }),
  );
  const cell = plainCell({
    nodes,
    classes: { 'bank/train': { asks: { cpu: '3' }, priority: { value: 5 } } },
    perDomainMax,
    domainOf: (node) => (node < 'n3' ? 'a' : 'b'),
  });
  const planner = new PreemptionPlanner(cell);
  const parts: GangPlacers = {
    place: ({ replicas }) => ({
      ...{ plans: [], later: [], decision: plainDraft },
      placements: replicas.slice(0, fit).map((replica) => ({ replica, node: 'free', nodeEpoch: epoch })),
      waits: replicas
        .slice(fit)
        .map((replica) => ({ replica, reason: 'PortTaken', message: 'taken', reasons: ['PortTaken'] })),
    }),
    preempt: (classKey, replicas) => planner.plan(classKey, replicas),
    undo: ({ name }) => undone.push(name),
  };
  return { parts, undone };
}

/** To the end, and how often others had a turn before it. */
function planned(search: Generator<GangPause, GangPlan>): {
  readonly plan: GangPlan;
  readonly pauses: number;
} {
  for (let pauses = 0; ; pauses++) {
    const step = search.next();
    if (step.done === true) return { plan: step.value, pauses };
  }
}

function shown(search: Generator<GangPause, GangPlan>): readonly string[] | undefined {
  const { plan } = planned(search);
  if (plan.kind !== 'Places') return undefined;
  return plan.parts
    .flatMap(({ places }) => places)
    .map((place) => {
      const victims = 'victims' in place ? ` for ${place.victims.map(({ name }) => name).join()}` : '';
      return `${place.replica.name} on ${place.node}${victims}`;
    });
}

describe('places for a gang', () => {
  it('asks nobody to leave for members beyond the least', () => {
    expect(shown(gangPlaces(members, 2, placers(3).parts))).toEqual([
      'train-0-1 on free',
      'train-1-1 on free',
      'train-2-1 on free',
    ]);
    expect(shown(gangPlaces(members, 3, placers(2).parts))).toEqual([
      'train-0-1 on free',
      'train-1-1 on free',
      'train-2-1 on n1 for guest-n1',
    ]);
  });

  it('makes room on several nodes, spread as it must be', () => {
    expect(shown(gangPlaces(members, 2, placers(0, 1).parts))).toEqual([
      'train-0-1 on n1 for guest-n1',
      'train-1-1 on n3 for guest-n3',
    ]);
  });

  it('[L10] counts what those who leave free beyond their need: members wait for it, and nobody else has to leave', () => {
    const running = [occupant('guest', { amount: { cpu: '4' } })];
    const nodes = [occupiedNode('n1', { offers: { cpu: '4' }, running })];
    const classes = { 'bank/train': { asks: { cpu: '2' }, priority: { value: 5 } } };
    const planner = new PreemptionPlanner(plainCell({ nodes, classes }));
    const preempt: GangPlacers['preempt'] = (classKey, replicas) => planner.plan(classKey, replicas);
    const { plan } = planned(gangPlaces(members.slice(0, 2), 2, { ...placers(0).parts, preempt }));
    expect(plan).toMatchObject({
      ...{ kind: 'Places', coming: 1 },
      parts: [{ places: [{ node: 'n1' }], draft: { gang: { wanted: 1, found: 1 } } }],
    });
    const more = planned(gangPlaces(members.slice(0, 3), 3, { ...placers(0).parts, preempt }));
    expect(more.plan).toMatchObject({ kind: 'None' });
  });

  it('takes nothing at all if there is not enough, and says why', () => {
    const { parts, undone } = placers(1, 1);
    expect(planned(gangPlaces(members, 4, parts)).plan).toEqual({
      ...{
        kind: 'None',
        found: 3,
        reason: 'PortTaken',
        reasons: ['PortTaken', 'SpreadViolated'],
        message: 'taken',
      },
      draft: {
        ...plainDraft,
        ...{ result: 'NotPlaced', reason: 'PortTaken', gang: { name: 'train', wanted: 4, found: 3 } },
      },
    });
    expect(undone).toEqual(['train-0-1', 'train-1-1', 'train-2-1']);
  });

  it('wait until it is known who would make room, and take nothing if nobody goes on then', () => {
    const { parts, undone } = placers(1);
    let isReady = false;
    const preempt: GangPlacers['preempt'] = (classKey, replicas) =>
      isReady
        ? parts.preempt(classKey, replicas)
        : { plans: [], comesFree: [], without: replicas, later: [], refusals: new Set(), isReady };
    const search = gangPlaces(members, 2, { ...parts, preempt });
    expect([search.next().value, search.next().value, search.next().value]).toEqual(['Turn', 'Look', 'Look']);
    isReady = true;
    expect(search.next()).toMatchObject({ done: true, value: { kind: 'Places' } });
    isReady = false;
    const another = gangPlaces(members, 2, { ...parts, preempt });
    another.next();
    another.next();
    another.return({ kind: 'NotReady' });
    expect(undone).toEqual(['train-0-1']);
  });

  it('are told with what was decided, part by part, and how many of each part the gang needs', () => {
    const many = pendingOf('bank/train', 600).map((member) => ({ ...member, gang: 'train' }));
    const { parts } = placers(100);
    const { plan, pauses } = planned(gangPlaces(many, 250, parts));
    expect(pauses).toBe(3);
    expect(
      plan.kind === 'Places' && plan.parts.map(({ draft, places }) => [draft.gang, places.length]),
    ).toEqual([
      [{ name: 'train', wanted: 62, found: 100 }, 100],
      [{ name: 'train', wanted: 62, found: 100 }, 100],
      [{ name: 'train', wanted: 50, found: 88 }, 88],
    ]);
  });

  it('are looked for in stretches where time is short, and nothing of them stays if nobody goes on', () => {
    const { parts, undone } = placers(1, 1);
    const slow: GangPlacers = {
      ...parts,
      preempt: (classKey, replicas) => {
        const made = parts.preempt(classKey, replicas.slice(0, 1));
        return { ...made, later: replicas.slice(1) };
      },
    };
    const { plan, pauses } = planned(gangPlaces(members, 3, slow));
    expect([plan.kind, pauses, undone]).toEqual(['Places', 2, []]);
    const two = placers(2).parts;
    const search = gangPlaces(members, 3, { ...slow, place: (turn) => two.place(turn) });
    search.next();
    search.return({ kind: 'NotReady' });
    expect(undone).toEqual(['train-0-1', 'train-1-1']);
  });
});

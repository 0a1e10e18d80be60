import { describe, expect, it } from 'vitest';
import { gangPlaces, type GangPlacers } from './gang-places.js';
import { occupant, occupiedNode, pendingOf, plainCell } from './plain-cell.fixture.js';
import { PreemptionPlanner, type PreemptionResult } from './preemption.js';

const members = pendingOf('bank/train', 4);
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
    place: (_, replicas) => ({
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

const shown = (plan: ReturnType<typeof gangPlaces>): readonly string[] | undefined =>
  plan.kind !== 'Places'
    ? undefined
    : plan.places.map((place) => {
        const victims = 'victims' in place ? ` for ${place.victims.map(({ name }) => name).join()}` : '';
        return `${place.replica.name} on ${place.node}${victims}`;
      });

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

  it('takes nothing at all if there is not enough, and says why', () => {
    const { parts, undone } = placers(1, 1);
    expect(gangPlaces(members, 4, parts)).toEqual({
      ...{ kind: 'None', found: 3, reason: 'PortTaken', message: 'taken' },
    });
    expect(undone).toEqual(['train-0-1', 'train-1-1', 'train-2-1']);
  });

  it('takes nothing and says nothing while it is not known who would make room', () => {
    const { parts, undone } = placers(1);
    const preempt = (): PreemptionResult => ({
      plans: [],
      comesFree: [],
      without: [],
      later: [],
      isReady: false,
    });
    expect(gangPlaces(members, 2, { ...parts, preempt })).toEqual({ kind: 'NotReady' });
    expect(undone).toEqual(['train-0-1']);
  });
});

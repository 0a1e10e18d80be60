import { describe, expect, it } from 'vitest';
import { amountOf } from '../model/amount.js';
import { PreemptionPlanner, type PreemptionResult } from './preemption.js';
import type { OccupiedNode } from './occupants.js';
import { occupant, occupiedNode, pendingOf, plainCell } from './plain-cell.fixture.js';

type Options = Parameters<typeof plainCell>[0];

const planFor = (count: number, options: Options, classKey = Object.keys(options.classes)[0] ?? '') =>
  new PreemptionPlanner(plainCell(options)).plan(classKey, pendingOf(classKey, count));

/** `NODE: VICTIM, VICTIM` of each plan. */
const shown = ({ plans }: PreemptionResult): string[] =>
  plans.map(({ node, victims }) => `${node}: ${victims.map(({ name }) => name).join(', ')}`);

const high = { value: 10 };
const full = { offers: { cpu: '4', memory: '16Gi' } };

describe('who makes room for whom', () => {
  it('[L10] a guarantee is reclaimed from a borrower of a higher priority, whatever limit that has', () => {
    const borrower = occupant('borrower', { amount: { cpu: '4' }, priority: 1_000 });
    const options: Options = {
      nodes: [occupiedNode('n1', { ...full, running: [borrower] })],
      classes: { 'bank/own': { asks: { cpu: '2' } } },
      guaranteed: { bank: { cpu: '2' } },
      disruptionsLeft: { 'shop/borrower': 0 },
    };
    expect(shown(planFor(1, options))).toEqual(['n1: borrower']);
    expect(planFor(1, options).plans[0]?.frees).toEqual(amountOf({ cpu: '4' }));
    // What is above the guarantee is borrowed as well, and then priority decides.
    expect(shown(planFor(1, { ...options, guaranteed: { bank: { cpu: '1' } } }))).toEqual([]);
  });

  it('ranks must differ: neither equals nor those above are asked to leave, nor any whose class may not preempt', () => {
    const running = [
      occupant('equal', { priority: 10 }),
      occupant('above', { priority: 11 }),
      occupant('sure', { rank: 'Guaranteed', priority: -5 }),
      occupant('low', { priority: 9 }),
    ];
    const nodes = [occupiedNode('n1', { ...full, running })];
    expect(shown(planFor(1, { nodes, classes: { 'shop/urgent': { priority: high } } }))).toEqual(['n1: low']);
    const asks = { cpu: '2' };
    expect(planFor(1, { nodes, classes: { 'shop/urgent': { asks, priority: high } } })).toMatchObject({
      plans: [],
      without: [{ name: 'urgent-0-1' }],
    });
    const humble = { value: 10, preemption: 'Never' } as const;
    expect(shown(planFor(1, { nodes, classes: { 'shop/urgent': { priority: humble } } }))).toEqual([]);
  });

  it('never more than one transaction carries: larger ones of a higher rank leave, or others elsewhere', () => {
    const many = Array.from({ length: 100 }, (_, index) =>
      occupant(`small${index}`, { amount: { cpu: '100m' }, workload: 'small', priority: -1 }),
    );
    const offers = { cpu: '12' };
    const large = occupant('large', { amount: { cpu: '2' } });
    const here = occupiedNode('n1', { offers, running: many, held: amountOf({ cpu: '2' }) });
    const planned = (...nodes: OccupiedNode[]) =>
      planFor(1, {
        nodes,
        classes: { 'bank/own': { asks: { cpu: '10' } } },
        guaranteed: { bank: { cpu: '10' } },
      }).plans.map(({ node, victims }) => [node, victims.length, victims.at(0)?.name]);
    expect(planned(here)).toEqual([]);
    const whole = occupant('whole', { amount: offers, priority: 5 });
    expect(planned(here, occupiedNode('n2', { offers, running: [whole] }))).toEqual([['n2', 1, 'whole']]);
    expect(planned(occupiedNode('n1', { offers, running: [...many, large] }))).toEqual([['n1', 81, 'large']]);
  });

  it('never those of its own workload', () => {
    const nodes = [occupiedNode('n1', { ...full, running: [occupant('old', { workload: 'urgent' })] })];
    const asks = { cpu: '4' };
    expect(shown(planFor(1, { nodes, classes: { 'shop/urgent': { asks, priority: high } } }))).toEqual([]);
    expect(shown(planFor(1, { nodes, classes: { 'bank/urgent': { asks, priority: high } } }))).toEqual([
      'n1: old',
    ]);
  });

  it.each([
    [
      'the lowest ranks, however many',
      { n1: [occupant('a', { amount: { cpu: '4' }, priority: 5 })] },
      { n2: [1, 2, 3, 4].map((index) => occupant(`b${index}`, { priority: 4 })) },
      'n2: b1, b2, b3, b4',
    ],
    [
      'the fewest',
      { n1: [1, 2, 3, 4].map((index) => occupant(`a${index}`)) },
      { n2: [2, 3].map((index) => occupant(`b${index}`, { amount: { cpu: '2' } })) },
      'n2: b2, b3',
    ],
    [
      'the least that is freed beyond what is missing',
      { n1: [occupant('a', { amount: { cpu: '4', memory: '8Gi' } })] },
      { n2: [occupant('b', { amount: { cpu: '4', memory: '1Gi' } })] },
      'n2: b',
    ],
    [
      'the youngest',
      { n1: [occupant('a', { amount: { cpu: '4' }, born: 7 })] },
      { n2: [occupant('b', { amount: { cpu: '4' }, born: 8 })] },
      'n2: b',
    ],
    [
      'the one the seed says',
      { n1: [occupant('a', { amount: { cpu: '4' } })] },
      { n2: [occupant('b', { amount: { cpu: '4' } })] },
      'n1: a',
    ],
  ])('of two nodes it takes %s', (_, first, second, expected) => {
    const nodes = Object.entries({ ...first, ...second }).map(([name, running]) =>
      occupiedNode(name, { ...full, running }),
    );
    const classes = { 'bank/urgent': { asks: { cpu: '4' }, priority: high } };
    expect(shown(planFor(1, { nodes, classes }))).toEqual([expected]);
    expect(shown(planFor(1, { nodes: nodes.toReversed(), classes }))).toEqual([expected]);
  });

  it('obeys disruption limits by priority, over all its plans', () => {
    const web = (name: string) => occupant(name, { workload: 'web', amount: { cpu: '4' } });
    const options: Options = {
      nodes: ['1', '2', '3'].map((name) => occupiedNode(`n${name}`, { ...full, running: [web(name)] })),
      classes: { 'bank/urgent': { asks: { cpu: '4' }, priority: high } },
      disruptionsLeft: { 'shop/web': 2 },
    };
    const result = planFor(3, options);
    expect(shown(result)).toEqual(['n1: 1', 'n2: 2']);
    expect(result.without.map(({ name }) => name)).toEqual(['urgent-2-1']);
  });

  it('counts devices and ports that come free', () => {
    const gpu = { cpu: '1', devices: { gpu: 1 } };
    const running = [
      occupant('plain', { amount: { cpu: '1' } }),
      occupant('gpu', { amount: gpu }),
      occupant('port', { ports: [8080] }),
    ];
    const nodes = [occupiedNode('n1', { offers: { cpu: '4', devices: { gpu: 1 } }, running })];
    const ask = (asks: object, ports: number[]): string[] =>
      shown(planFor(1, { nodes, classes: { 'bank/urgent': { asks, ports, priority: high } } }));
    expect(ask(gpu, [])).toEqual(['n1: gpu']);
    expect(ask({ cpu: '1' }, [8080])).toEqual(['n1: port']);
    expect(ask({ cpu: '2' }, [8080])).toEqual(['n1: port']);
    expect(ask(gpu, [8080, 9090])).toEqual(['n1: port, gpu']);
    expect(ask({ cpu: '1', devices: { fpga: 1 } }, [])).toEqual([]);
  });

  it('makes up for what is used beyond what a node offers', () => {
    const running = [occupant('a', { amount: { cpu: '4' } }), occupant('b', { amount: { cpu: '3' } })];
    const nodes = [occupiedNode('n1', { ...full, running })];
    const classes = { 'bank/urgent': { asks: { cpu: '2' }, priority: high } };
    expect(shown(planFor(1, { nodes, classes }))).toEqual(['n1: a, b']);
  });

  it('a tenant at its limit, or without a grant, makes nobody leave', () => {
    const nodes = [occupiedNode('n1', { ...full, running: [occupant('a', { amount: { cpu: '4' } })] })];
    const classes = { 'bank/urgent': { asks: { cpu: '2' }, priority: high } };
    const grant = { epoch: { cell: 1, number: 1 }, source: 'Whole' as const };
    const withMost = (replicas: number) => ({
      bank: { used: { replicas: 1 }, grant: { ...grant, most: { replicas } } },
    });
    expect(shown(planFor(1, { nodes, classes, accounts: withMost(1) }))).toEqual([]);
    expect(shown(planFor(1, { nodes, classes, accounts: withMost(2) }))).toEqual(['n1: a']);
    const expired = { bank: { grant: { ...grant, most: {}, isExpired: true } } };
    expect(shown(planFor(1, { nodes, classes, accounts: expired }))).toEqual([]);
  });
});

describe('what is on its way already', () => {
  const urgent = { 'bank/urgent': { asks: { cpu: '2' }, priority: high } };

  it('who leaves already is spoken for before anybody is asked to leave', () => {
    const nodes = [
      occupiedNode('n1', { ...full, running: [occupant('a', { amount: { cpu: '4' }, priority: -5 })] }),
      occupiedNode('n2', {
        ...full,
        running: [occupant('b'), occupant('c')],
        leaving: [occupant('goes', { amount: { cpu: '2' } })],
      }),
    ];
    expect(shown(planFor(1, { nodes, classes: urgent }))).toEqual(['n2: goes']);
    const classes = { 'bank/urgent': { asks: { cpu: '3' }, priority: high } };
    expect(shown(planFor(1, { nodes: nodes.slice(1), classes }))).toEqual(['n2: goes, b']);
  });

  it('waits for what others that leave will free beyond what is awaited of them, and asks nobody to leave', () => {
    const goes = occupant('goes', { amount: { cpu: '4' }, priority: 99, awaited: { cpu: '1' } });
    const nodes = [
      occupiedNode('n1', { ...full, leaving: [goes] }),
      occupiedNode('n2', { ...full, running: [occupant('a', { amount: { cpu: '4' } })] }),
    ];
    const result = planFor(2, { nodes, classes: urgent });
    expect(result.comesFree.map(({ replica, node }) => [replica.name, node])).toEqual([['urgent-0-1', 'n1']]);
    // What comes free there is not enough for two.
    expect(shown(result)).toEqual(['n2: a']);
  });

  it('[S9] what is awaited by a hold is nobody else’s', () => {
    const goes = occupant('goes', { amount: { cpu: '4' }, awaited: { cpu: '3' } });
    const nodes = [occupiedNode('n1', { ...full, leaving: [goes] })];
    expect(planFor(1, { nodes, classes: urgent })).toMatchObject({ plans: [], comesFree: [], without: [{}] });
  });

  it('each plan counts what those before it took: room, victims, guarantee and neighbours', () => {
    const running = ['a', 'b', 'c', 'd'].map((name, index) => occupant(name, { priority: index }));
    const nodes = [
      occupiedNode('n1', { ...full, running }),
      occupiedNode('n2', { ...full, running: [occupant('z', { amount: { cpu: '4' }, priority: 50 })] }),
    ];
    const asks = { cpu: '1' };
    const classes = { 'bank/urgent': { asks, priority: { value: 2 } } };
    expect(shown(planFor(5, { nodes, classes }))).toEqual(['n1: a', 'n1: b']);
    // Two are within the guarantee: they may take the place of anything that is borrowed, the third may not.
    const guaranteed = { bank: { cpu: '2' } };
    const inClass = { 'bank/urgent': { asks, priority: { value: -9 } } };
    expect(shown(planFor(5, { nodes, classes: inClass, guaranteed }))).toEqual(['n1: a', 'n1: b']);
    expect(shown(planFor(5, { nodes, classes: inClass, guaranteed, perDomainMax: 1 }))).toEqual([
      'n1: a',
      'n2: z',
    ]);
  });

  it('what a plan frees beyond its need is there for the next one, without another victim', () => {
    const nodes = [occupiedNode('n1', { ...full, running: [occupant('a', { amount: { cpu: '4' } })] })];
    const result = planFor(3, { nodes, classes: urgent });
    expect(shown(result)).toEqual(['n1: a']);
    expect(result.comesFree.map(({ replica }) => replica.name)).toEqual(['urgent-1-1']);
    expect(result.without.map(({ name }) => name)).toEqual(['urgent-2-1']);
  });
});

describe('planning that runs out of time', () => {
  const classKey = 'bank/urgent';
  const classes = { [classKey]: { asks: { cpu: '4' }, priority: high } };
  const never = (): boolean => false;
  /** Two of one workload that may lose one: it takes a search to see that there is no room to be made. */
  const inVain = (name: string) =>
    occupiedNode(name, {
      ...full,
      running: ['x', 'y'].map((one) => occupant(`${name}-${one}`, { amount: { cpu: '2' }, workload: name })),
    });
  const inVainMany = (count: number) => Array.from({ length: count }, (_, at) => inVain(`n${at + 1}`));
  const pairOn = (name: string) =>
    occupiedNode(name, {
      ...full,
      running: ['x', 'y'].map((one) => occupant(`${name}-${one}`, { amount: { cpu: '2' } })),
    });

  it('hands the rest back, gets somewhere each time, and comes to the places it would have come to', () => {
    const options: Options = { nodes: ['n1', 'n2', 'n3', 'n4'].map(pairOn), classes };
    const planner = new PreemptionPlanner(plainCell(options));
    const found: string[] = [];
    let left = pendingOf(classKey, 5);
    for (let turn = 1; turn <= 4; turn++) {
      const result = planner.plan(classKey, left, never);
      found.push(...shown(result));
      expect([found.length, result.later.length, result.without]).toEqual([turn, 5 - turn, []]);
      left = [...result.later];
    }
    expect(found).toEqual(shown(planFor(5, options)));
    expect(planner.plan(classKey, left, never)).toMatchObject({ later: [], without: left });
  });

  it('goes on behind the nodes that it had tried, until it has found one or has tried all', () => {
    const planner = new PreemptionPlanner(plainCell({ nodes: [...inVainMany(3), pairOn('n9')], classes }));
    const pending = pendingOf(classKey, 1);
    for (let turn = 1; turn <= 3; turn++)
      expect(planner.plan(classKey, pending, never).later).toEqual(pending);
    expect(shown(planner.plan(classKey, pending, never))).toEqual(['n9: n9-x, n9-y']);
    const hopeless = new PreemptionPlanner(plainCell({ nodes: inVainMany(2), classes }));
    expect(hopeless.plan(classKey, pending, never).later).toEqual(pending);
    expect(hopeless.plan(classKey, pending, never).without).toEqual(pending);
  });

  it('promises what comes free to as many as it is enough for, however often it is cut short', () => {
    const goes = occupant('goes', { amount: { cpu: '4' }, priority: 99, awaited: { cpu: '1' } });
    const asks = { [classKey]: { asks: { cpu: '2' }, priority: high } };
    const nodes = [occupiedNode('n1', { ...full, leaving: [goes] }), ...['n2', 'n3', 'n4'].map(pairOn)];
    const planner = new PreemptionPlanner(plainCell({ nodes, classes: asks }));
    const free: string[] = [];
    let left = pendingOf(classKey, 4);
    while (left.length > 0) {
      const result = planner.plan(classKey, left, never);
      free.push(...result.comesFree.map(({ replica }) => replica.name));
      left = [...result.later];
    }
    expect(free).toEqual(['urgent-0-1']);
  });

  it('[L1] looks at very many nodes in stretches, and comes to the place it would have come to', () => {
    const options: Options = {
      nodes: Array.from({ length: 2_000 }, (_, at) => pairOn(`n${2_000 - at}`)),
      classes,
    };
    const planner = new PreemptionPlanner(plainCell(options));
    const pending = pendingOf(classKey, 1);
    let [turns, result] = [1, planner.plan(classKey, pending, never)];
    for (; result.later.length > 0; turns++) result = planner.plan(classKey, pending, never);
    expect(turns).toBeGreaterThan(3);
    expect(shown(result)).toEqual(shown(planFor(1, options)));
  });

  it('searches no node a second time in vain', () => {
    // By its largest alone each of these promises two victims, and takes three.
    const deceiving = (name: string) =>
      occupiedNode(name, {
        ...full,
        running: ['3', '500m', '500m'].map((cpu, at) => occupant(`${name}-${at}`, { amount: { cpu } })),
      });
    const many = Array.from({ length: 100 }, (_, at) => deceiving(`n${at + 10}`));
    const planner = new PreemptionPlanner(
      plainCell({ nodes: [...['n1', 'n2', 'n3'].map(pairOn), ...many], classes }),
    );
    let asked = 0;
    const { plans } = planner.plan(classKey, pendingOf(classKey, 3), () => (asked += 1) > 0);
    expect(plans.map(({ node }) => node)).toEqual(['n1', 'n2', 'n3']);
    expect(asked).toBeLessThan(110);
  });
});

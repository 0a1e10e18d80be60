import { describe, expect, it } from 'vitest';
import type { Node } from '../../model/kinds/node.js';
import type { ReplicaStatus } from '../../model/kinds/replica.js';
import {
  leaseKey,
  type NodeAccount,
  nodeAccountKey,
  objectKey,
  slotKey,
  tenantAccountKey,
} from '../../model/records.js';
import type { LivenessRule } from './checker.js';
import { HonestCell, replicaKey } from './honest-cell.fixture.js';
import { livenessChecks } from './liveness.js';
import type { LivenessFacts } from './liveness-facts.js';

const noFacts: LivenessFacts = {
  rejectedBinds: [],
  windows: [],
  commits: [],
  endMs: 0,
  upNodes: [],
  quietCommits: [],
  actsAt: () => [],
};
const settled = (): HonestCell => new HonestCell().settled();

function judged(rule: LivenessRule, cell: HonestCell, facts: Partial<LivenessFacts> = {}): readonly string[] {
  const { checked, violations } = livenessChecks[rule](cell, { ...noFacts, ...facts });
  expect(checked).toBeGreaterThan(0);
  expect(violations.every((violation) => violation.rule === rule)).toBe(true);
  return violations.map(({ message }) => message);
}
const change = (cell: HonestCell, key: string, patch: (value: never) => unknown): HonestCell => {
  cell.transact('server-1', (draft) => draft.change<unknown>(key, patch as (value: unknown) => unknown));
  return cell;
};
const queued = (wants: Parameters<HonestCell['workload']>[1] = {}): HonestCell => {
  const cell = settled();
  cell.workload('app', wants);
  cell.incarnate('app');
  return cell;
};

describe('[L1] work that fits and is allowed gets bound', () => {
  it('a Queued replica that a node would take is noticed', () => {
    expect(judged('L1', queued())).toEqual(['/s/Replica/shop/app-0-1 is Queued and would fit on n1, n2']);
  });

  it('one that is bound is fine', () => {
    const cell = queued();
    cell.run('app-0-1', 'n1');
    expect(judged('L1', cell)).toEqual([]);
  });

  it.each([
    ['no node has the amounts', { resources: { cpu: '5' } }],
    ['the grant has not', { resources: { cpu: '7' } }],
    ['no node has the devices', { resources: { devices: { tpu: 1 } } }],
    ['no node has so many devices free', { resources: { devices: { gpu: 3 } } }],
    ['no node is allowed', { placement: { zones: ['c'] } }],
    ['it must be near others', { placement: { affinity: [{ topology: 'Node' as const }] } }],
  ])('one that waits because %s is fine', (_, wants) => {
    expect(judged('L1', queued(wants))).toEqual([]);
  });

  it('one that waits for a port is fine, until the port is free', () => {
    const cell = queued({ resources: { ports: ['http:80'] } });
    const ports = (one: HonestCell, owner: object): void => {
      for (const node of ['n1', 'n2'])
        change(one, nodeAccountKey(node), (account: NodeAccount) => ({
          ...account,
          claims: { devices: {}, ports: owner },
        }));
    };
    ports(cell, { 80: 'uid-x' });
    expect(judged('L1', cell)).toEqual([]);
    ports(cell, {});
    expect(judged('L1', cell)).toHaveLength(1);
  });

  it('one that no agent could run, or whose tenant has no grant, is fine', () => {
    const withAgents = (agent: NonNullable<Node['status']>['agent']): HonestCell => {
      const cell = queued();
      for (const node of ['n1', 'n2'])
        cell.transact('agent', (draft) => draft.put(`/s/Node/_/${node}`, { status: { agent } }));
      return cell;
    };
    expect(judged('L1', withAgents({ drivers: ['container'] }))).toEqual([]);
    expect(judged('L1', withAgents({ drivers: ['process'], processTenants: ['default'] }))).toEqual([]);
    expect(judged('L1', withAgents({ drivers: ['process'], processTenants: ['shop'] }))).toHaveLength(1);
    const poor = queued();
    change(poor, tenantAccountKey('shop'), (account: object) => ({ ...account, grant: undefined }));
    expect(judged('L1', poor)).toEqual([]);
  });

  it('one that is kept apart from what is there is fine', () => {
    const cell = queued({ placement: { antiAffinity: [{ topology: 'Region' }] } });
    cell.bind('app-0-1', 'n1');
    cell.incarnate('app', '1');
    expect(judged('L1', cell)).toEqual([]);
  });
});

describe('[L10] demand within a guarantee is placed despite borrowers', () => {
  /** Both nodes are filled by others of the tenant; one more waits that asks for all of a node. */
  const crowded = (rank: 'Guaranteed' | 'Borrowed', guaranteed = '6'): HonestCell => {
    const cell = settled();
    cell.workload('fill', { resources: { cpu: '3' } });
    for (const [slot, node] of [
      ['0', 'n1'],
      ['1', 'n2'],
    ] as const) {
      cell.incarnate('fill', slot);
      cell.run(`fill-${slot}-1`, node, { rank });
    }
    cell.workload('own', { resources: { cpu: '3' } });
    cell.incarnate('own');
    change(cell, objectKey('Tenant', undefined, 'shop'), (tenant: { spec: object }) => ({
      ...tenant,
      spec: { ...tenant.spec, guaranteed: { cpu: guaranteed } },
    }));
    change(cell, tenantAccountKey('shop'), (account: { grant: object }) => ({
      ...account,
      grant: { ...account.grant, most: {} },
    }));
    return cell;
  };

  it('one that borrowers keep out is noticed', () => {
    expect(judged('L1', crowded('Borrowed'))).toEqual([]);
    expect(judged('L10', crowded('Borrowed'))).toEqual([
      '/s/Replica/shop/own-0-1 is Queued within the guarantee of shop; borrowers are on n1, n2',
    ]);
  });

  it('one that others within their guarantee keep out is fine, and one that is beyond the guarantee itself', () => {
    expect(judged('L10', crowded('Guaranteed', '99'))).toEqual([]);
    expect(judged('L10', crowded('Borrowed', '2'))).toEqual([]);
  });

  it('one that runs is fine', () => {
    const cell = settled();
    cell.workload('own');
    cell.incarnate('own');
    cell.run('own-0-1', 'n1');
    expect(judged('L10', cell)).toEqual([]);
  });
});

describe('[L2] no work is dropped', () => {
  const facts = { rejectedBinds: [{ tenant: 'shop', name: 'app-0-1', uid: 'uid-app-0-1' }] };
  const without = (cell: HonestCell): HonestCell => {
    for (const name of ['web', 'once'])
      cell.transact('user', (draft) => draft.put(objectKey('Workload', 'shop', name), undefined));
    return cell;
  };

  it('a slot without a replica is noticed', () => {
    const cell = without(settled());
    cell.workload('app', {}, 2);
    cell.incarnate('app', '0');
    expect(judged('L2', cell)).toEqual([
      '/o/Workload/shop/app wants 2 slots; replicas that have not ended are in 0',
    ]);
    cell.incarnate('app', '1');
    expect(judged('L2', cell)).toEqual([]);
  });

  it('a batch wants what has not succeeded', () => {
    const cell = without(settled());
    cell.workload('app', { type: 'Batch' }, 2);
    for (const slot of ['0', '1']) cell.incarnate('app', slot);
    cell.run('app-0-1', 'n1');
    cell.move('app-0-1', 'Succeeded', 'agent:n1');
    expect(judged('L2', cell)).toEqual([]);
    cell.move('app-1-1', 'Released', 'workload-controller');
    expect(judged('L2', cell)).toHaveLength(1);
  });

  it('one that was rejected and is Queued says why', () => {
    const cell = without(queued());
    expect(judged('L2', cell, facts)).toEqual([
      '/s/Replica/shop/app-0-1 was rejected, is Queued again and does not say why',
    ]);
    change(cell, replicaKey('app-0-1'), ({ status }: { status: ReplicaStatus }) => ({
      status: { ...status, conditions: [{ type: 'SchedulingRetrying', status: 'True', reason: 'NodeFull' }] },
    }));
    expect(judged('L2', cell, facts)).toEqual([]);
  });

  it('one that was rejected and is bound is fine', () => {
    const cell = without(queued());
    cell.bind('app-0-1', 'n1');
    expect(judged('L2', cell, facts)).toEqual([]);
  });
});

describe('[L4] nothing is left half done', () => {
  it('what is bound or ended is fine', () => {
    const cell = queued();
    cell.hold('app-0-1', 'n1');
    cell.bind('app-0-1', 'n1');
    expect(judged('L4', cell)).toEqual([]);
  });

  it('a replica that is left Scheduled or Releasing is noticed', () => {
    const held = queued();
    held.hold('app-0-1', 'n1');
    expect(judged('L4', held)).toEqual(['/s/Replica/shop/app-0-1 was left Scheduled']);
    const going = queued();
    going.bind('app-0-1', 'n1');
    going.move('app-0-1', 'Releasing', 'user');
    expect(judged('L4', going)).toEqual(['/s/Replica/shop/app-0-1 was left Releasing']);
  });

  it('a hold whose owner has ended is noticed', () => {
    const cell = queued();
    cell.hold('app-0-1', 'n1');
    cell.move('app-0-1', 'Released', 'workload-controller');
    expect(judged('L4', cell)).toEqual(['/s/Reservation/shop/hold-app-0-1 is Held; its owner is not live']);
  });
});

describe('[L6] whatever waits says why, currently', () => {
  const saying = (progress: object, observedGeneration = 1, more: object = {}): HonestCell => {
    const cell = queued();
    for (const name of ['web', 'once'])
      cell.transact('user', (draft) => draft.put(objectKey('Workload', 'shop', name), undefined));
    cell.transact('controller-1', (draft) =>
      draft.put('/s/Workload/shop/app', { status: { observedGeneration, progress, ...more } }),
    );
    return cell;
  };
  const why = { stages: { Queued: 1 }, limitedBy: 'Scheduling', reason: 'NodeFull' };

  it('a reason that is current is fine, and so is nothing where nothing waits', () => {
    expect(judged('L6', saying(why))).toEqual([]);
    const cell = saying({ stages: {} });
    cell.run('app-0-1', 'n1');
    cell.move('app-0-1', 'Serving', 'endpoints-controller');
    expect(judged('L6', cell)).toEqual([]);
  });

  it('a service that is ready waits for its traffic, and is not available meanwhile', () => {
    const conditions = [{ type: 'Available', status: 'True', lastTransitionTime: '' }];
    const waits = { stages: { Ready: 1 }, limitedBy: 'Traffic', reason: 'Wanted' };
    const ready = (progress: object, more: object = {}): string => {
      const cell = saying(progress, 1, more);
      cell.run('app-0-1', 'n1');
      return judged('L6', cell).join();
    };
    expect(ready(waits)).toBe('');
    expect(ready({ stages: { Ready: 1 } })).toContain('1 Ready, limited by nothing for no reason');
    expect(ready(waits, { conditions })).toContain('says that it is available; 0 of 1 serve');
  });

  it.each([
    ['no boundary', { ...why, limitedBy: undefined }, 1, 'limited by nothing for NodeFull'],
    ['no reason', { ...why, reason: undefined }, 1, 'limited by Scheduling for no reason'],
    ['older stages', { ...why, stages: { Bound: 1 } }, 1, 'says 0 Queued; there are 1'],
    ['an older generation', why, 0, 'is of generation 0, not 1'],
  ])('%s is noticed', (_, progress, generation, what) => {
    expect(judged('L6', saying(progress, generation)).join()).toContain(what);
  });

  it('a workload without its replicas says why too', () => {
    expect(judged('L6', settled()).join()).toContain('/s/Workload/shop/web: replicas are missing');
  });
});

describe('[L7] what lost its owner is gone', () => {
  const app = (): HonestCell => {
    const cell = queued();
    cell.bind('app-0-1', 'n1');
    return cell;
  };

  it('what has its owner may stay', () => {
    expect(judged('L7', app())).toEqual([]);
  });

  it.each([
    ['a workload', objectKey('Workload', 'shop', 'app'), 'its workload app (uid-Workload-app) is gone'],
    ['a node', objectKey('Node', undefined, 'n1'), 'is charged to node n1, which is gone'],
    ['a deleted node', objectKey('Node', undefined, 'n2'), '/e/n2 is left of a node that is gone'],
  ])('what %s leaves behind is noticed', (_, key, what) => {
    const cell = app();
    cell.transact('user', (draft) => draft.put(key, undefined));
    expect(judged('L7', cell).join()).toContain(what);
  });

  it('a slot record and accounts without their replica are noticed', () => {
    const cell = app();
    cell.forget('app-0-1');
    expect(judged('L7', cell)).toEqual([
      `${slotKey('shop', 'app', '0')} names app-0-1 (uid-app-0-1), which is gone`,
      '/a/node/n1 says that something is in use; nothing is charged',
      '/a/tenant/shop says that something is in use; nothing is charged',
      '/a/workload/shop/app says that something is in use; nothing is charged',
    ]);
  });

  it('a hold without its owner is noticed', () => {
    const cell = queued();
    cell.hold('app-0-1', 'n1');
    cell.forget('app-0-1', slotKey('shop', 'app', '0'));
    expect(judged('L7', cell)).toEqual([
      '/s/Reservation/shop/hold-app-0-1 is Held; its owner app-0-1 is gone',
    ]);
  });
});

describe('[L8] retries stay within a budget', () => {
  it.each([
    [10, []],
    [11, ['11 transactions were attempted from 0 ms to 1000 ms; the budget is 10']],
  ])('%i of 10', (attempted, expected) => {
    const windows = [{ fromMs: 0, toMs: 1_000, attempted, budget: 10 }];
    expect(judged('L8', settled(), { windows })).toEqual(expected);
  });
});

describe('[L9] under constant inputs the cell goes quiet', () => {
  const renewal = (patch: object) => {
    const cell = settled();
    change(cell, leaseKey('drain'), (lease: object) => ({ ...lease, ...patch }));
    return { cell, quietCommits: cell.commits.slice(-1) };
  };

  it('renewals are no noise', () => {
    const { cell, quietCommits } = renewal({ renewals: 2 });
    expect(judged('L9', cell, { quietCommits })).toEqual([]);
  });

  it('a lease that changes hands is, and so is everything else', () => {
    const { cell, quietCommits } = renewal({ holder: 'other' });
    expect(judged('L9', cell, { quietCommits })).toEqual([
      `a write of objects by server-1 still wrote /l/drain (holder) at revision ${cell.revision}`,
    ]);
    cell.incarnate('web');
    expect(judged('L9', cell, { quietCommits: cell.commits.slice(-1) })[0]).toContain(
      '/o/Replica/shop/web-0-1',
    );
  });

  it('says who acted and why, and what was written again and again once', () => {
    const cell = settled();
    const gate = (state: string) =>
      change(cell, nodeAccountKey('n1'), (account: object) => ({ ...account, gate: { state, since: '' } }));
    for (const state of ['Open', 'Closed', 'Open', 'Closed']) gate(state);
    const quietCommits = cell.commits.slice(-3);
    const actsAt = (): string[] => ['gate by detector:d under detector (Suspect: silent for 12 s)'];
    const [from, to] = [quietCommits[0]?.revision, quietCommits[2]?.revision];
    expect(judged('L9', cell, { quietCommits, actsAt })).toEqual([
      `gate by detector:d under detector (Suspect: silent for 12 s), at server-1, still wrote /a/node/n1 (gate.state) 3 times, from revision ${from} to ${to}`,
    ]);
  });

  it('a window in which not even a lease was renewed shows nothing', () => {
    expect(livenessChecks.L9(settled(), noFacts).checked).toBe(0);
  });
});

import { describe, expect, it } from 'vitest';
import { example } from '../example.fixture.js';
import { Validator } from '../validate.js';
import { replica, transitionsMax } from './replica.js';

const validator = new Validator();
const spec = { workload: 'api', slot: '0', incarnation: 1, revision: 'api-1' };
const epoch = { cell: 1, number: 4 };
const transition = {
  from: 'Queued',
  to: 'Bound',
  actor: 'scheduler',
  epoch,
  reason: 'Placed',
  evidence: { snapshot: '41' },
  revision: '42',
  at: '2026-01-31T13:05:00Z',
  operation: 'bind-7',
};
const status = {
  stage: 'Bound',
  binding: {
    node: 'node-a',
    nodeEpoch: epoch,
    fence: '40',
    receipt: { snapshotRevision: '41', policyRevision: 'builtin-1', decision: 'd-1', operation: 'bind-7' },
  },
  charge: {
    tenant: 'default',
    node: 'node-a',
    workload: 'api',
    rank: 'Borrowed',
    amounts: { cpu: '2', memory: '4Gi', devices: { gpu: 1 } },
    devices: { gpu: ['GPU-0a1b'] },
    ports: { http: 20_000 },
  },
  intent: { actor: 'drain', reason: 'NodeDrained', operation: 'drain-1', at: '2026-01-31T13:06:00Z' },
  conditions: [
    {
      type: 'Bound',
      status: 'True',
      reason: 'Placed',
      message: '',
      lastTransitionTime: '2026-01-31T13:05:00Z',
    },
  ],
  transitions: [transition],
};

describe('a Replica', () => {
  it('holds where it is bound, what it is charged with, what is intended, and how it got there', () => {
    expect(validator.validate(replica, example(replica, { spec, status }))).toEqual([]);
  });

  it('remembers a bounded number of transitions', () => {
    const many = Array.from({ length: transitionsMax + 1 }, () => transition);
    expect(
      validator.validate(replica, example(replica, { spec, status: { ...status, transitions: many } })),
    ).toMatchObject([{ path: 'status.transitions', reason: 'TooLong' }]);
  });

  it('has a spec that never changes, and a status that does', () => {
    const before = example(replica, { spec, status });
    const moved = example(replica, { spec, status: { ...status, stage: 'Starting' } });
    expect(validator.validate(replica, moved, before)).toEqual([]);
    const other = example(replica, { spec: { ...spec, incarnation: 2 }, status });
    expect(validator.validate(replica, other, before)).toMatchObject([{ path: 'spec', reason: 'Forbidden' }]);
  });

  it('is only ever at a stage of the graph', () => {
    expect(
      validator.validate(replica, example(replica, { spec, status: { stage: 'Running' } })),
    ).toMatchObject([{ path: 'status.stage', reason: 'NotSupported' }]);
  });
});

import { describe, expect, it } from 'vitest';
import { example } from '../example.fixture.js';
import { Validator } from '../validate.js';
import { decision, rejectedNamesMax } from './decision.js';

const validator = new Validator();
const spec = {
  workload: 'api',
  revision: 'api-1',
  generation: 2,
  at: '2026-01-31T13:05:00Z',
  scheduler: { name: 'server-1', epoch: { cell: 1, number: 2 } },
  snapshot: { revision: '41', ageMs: 3.5, nodes: 12 },
  policyRevision: 'builtin-1',
  result: 'Partly',
  quota: { revision: '40', used: { cpu: '2' }, grant: { cpu: '64', replicas: 500 } },
  rejections: [
    { reason: 'Tainted', count: 1, nodes: ['node-c'] },
    { reason: 'NodeFull', count: 9, nodes: ['node-b'] },
  ],
  scores: [{ node: 'node-a', total: 7.5, parts: { packing: 5, spread: 2.5 } }],
  choices: [
    {
      replica: 'api-0-1',
      uid: 'uid-1',
      node: 'node-a',
      operation: 'bind-7',
      outcome: 'Committed',
      attempts: 1,
    },
    { replica: 'api-1-1', uid: 'uid-2', operation: 'bind-8' },
  ],
  inputs: { seed: 4, nodes: [{ name: 'node-a' }] },
};

describe('a Decision', () => {
  it('holds what was known, ruled out, scored, chosen and answered', () => {
    expect(validator.validate(decision, example(decision, { spec }))).toEqual([]);
  });

  it('never changes', () => {
    const before = example(decision, { spec });
    const after = example(decision, { spec: { ...spec, result: 'Placed' } });
    expect(validator.validate(decision, after, before)).toMatchObject([
      { path: 'spec', reason: 'Forbidden' },
    ]);
  });

  it('names a bounded number of nodes that were ruled out', () => {
    const nodes = Array.from({ length: rejectedNamesMax + 1 }, (_, index) => `node-${index}`);
    const many = { ...spec, rejections: [{ reason: 'NodeFull', count: 21, nodes }] };
    expect(validator.validate(decision, example(decision, { spec: many }))).toMatchObject([
      { reason: 'TooLong' },
    ]);
  });
});

import { expect, it } from 'vitest';
import { example } from '../example.fixture.js';
import { Validator } from '../validate.js';
import { workloadRevision } from './workload-revision.js';

it('a WorkloadRevision never changes', () => {
  const validator = new Validator();
  const spec = { workload: 'api', revision: 1, template: { run: { process: { command: ['./run'] } } } };
  const before = example(workloadRevision, { spec }, 'api-1');
  expect(validator.validate(workloadRevision, before)).toEqual([]);
  expect(validator.validate(workloadRevision, before, before)).toEqual([]);
  const after = example(workloadRevision, { spec: { ...spec, revision: 2 } }, 'api-1');
  expect(validator.validate(workloadRevision, after, before)).toMatchObject([
    { path: 'spec', reason: 'Forbidden' },
  ]);
});

import { expect, it } from 'vitest';
import { describeConflicts } from './describe-conflicts.js';

it('names every manager once with its fields, and gives each field a cause', () => {
  const report = describeConflicts([
    { manager: 'a', operation: 'Apply', path: '.spec.x' },
    { manager: 'b', operation: 'Update', subresource: 'status', path: '.status.y' },
    { manager: 'a', operation: 'Apply', path: '.spec.z' },
  ]);
  expect(report.message).toBe(
    'Apply failed with 3 conflicts: conflict with "a" (Apply): .spec.x, .spec.z; ' +
      'conflict with "b" (Update through status): .status.y',
  );
  expect(report.causes.map(({ field }) => field)).toEqual(['.spec.x', '.status.y', '.spec.z']);
});

import { describe, expect, it } from 'vitest';
import { example } from './example.fixture.js';
import { workload } from './kinds/workload.js';
import { pruneUnknown } from './prune.js';

const run = { process: { command: ['./serve'] }, env: [{ name: 'A', value: 'b' }] };

describe('pruning', () => {
  it('returns an object in which everything is known as it is', () => {
    const object = example(workload, { spec: { template: { run, labels: { any: 'key' } } } });
    expect(pruneUnknown(workload, object)).toEqual({ object, unknown: [] });
    expect(pruneUnknown(workload, object).object).toBe(object);
  });

  it('drops what is unknown at every depth, names it, and leaves the original alone', () => {
    const object = example(workload, {
      extra: 1,
      spec: {
        odd: { deep: true },
        template: { run: { ...run, env: [{ name: 'A', more: 1 }, { name: 'B' }] } },
      },
    });
    const before = structuredClone(object);
    const { object: pruned, unknown } = pruneUnknown(workload, object);
    expect(unknown).toEqual(['extra', 'spec.odd', 'spec.template.run.env[0].more']);
    expect(pruned).toEqual(
      example(workload, {
        spec: { template: { run: { ...run, env: [{ name: 'A' }, { name: 'B' }] } } },
      }),
    );
    expect(object).toEqual(before);
  });
});

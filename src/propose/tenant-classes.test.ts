import { describe, expect, it } from 'vitest';
import type { RuledRevision } from '../model/placement-rules.js';
import { TenantClasses } from './tenant-classes.js';

const revision = (workload: string, placement?: object): RuledRevision =>
  ({
    metadata: { labels: {} },
    spec: { workload, ...(placement !== undefined && { placement }) },
  }) as unknown as RuledRevision;
const apart = { antiAffinity: [{ topology: 'Node' }] };

describe('TenantClasses', () => {
  it('knows the classes of each workload and those with rules of keeping apart, as they come, change and go', () => {
    const classes = new TenantClasses();
    const shown = (): object => ({
      all: [...classes.keys],
      apart: [...classes.withApartRules],
      web: [...classes.ofWorkload('web')],
    });
    classes.set('t/web-1', revision('web'));
    classes.set('t/web-2', revision('web', apart));
    classes.set('t/db-1', revision('db', apart));
    expect(shown()).toEqual({
      all: ['t/web-1', 't/web-2', 't/db-1'],
      apart: ['t/web-2', 't/db-1'],
      web: ['t/web-1', 't/web-2'],
    });
    classes.set('t/web-2', revision('web'));
    classes.set('t/web-1', undefined);
    expect(shown()).toEqual({ all: ['t/web-2', 't/db-1'], apart: ['t/db-1'], web: ['t/web-2'] });
    classes.set('t/web-2', undefined);
    expect([classes.size, ...classes.ofWorkload('web')]).toEqual([1]);
  });
});

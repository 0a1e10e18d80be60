import { expect, it } from 'vitest';
import { realEnv } from '../env/real.js';
import type { Lease } from '../model/kinds/lease.js';
import type { Objects } from '../model/ports.js';
import { FreshnessObserver } from './freshness-observer.js';

const lease = (node: string, resourceVersion: string): Lease =>
  ({
    kind: 'Lease',
    metadata: { name: `node-${node}`, resourceVersion },
    spec: { durationSeconds: 40 },
  }) as unknown as Lease;

it('after a gap knows the nodes whose leases are there, and has heard of those whose leases changed', () => {
  let leases = [lease('same', '2'), lease('changed', '4'), lease('gone', '6')];
  let onGap = (): void => undefined;
  const objects: Pick<Objects, 'follow' | 'list'> = {
    follow: (_, gap) => void (onGap = gap),
    *list<T>() {
      yield* leases as unknown as T[];
    },
  };
  const observer = new FreshnessObserver({ objects, env: realEnv() });
  observer.start(new AbortController().signal);
  leases = [lease('same', '2'), lease('changed', '8'), lease('new', '10')];
  onGap();
  expect([...observer.nodes()].toSorted()).toEqual(['changed', 'new', 'same']);
  expect(observer.ageMs('same')).toBeUndefined();
  expect(observer.ageMs('changed')).toBeGreaterThanOrEqual(0);
  expect(observer.ageMs('new')).toBeGreaterThanOrEqual(0);
});

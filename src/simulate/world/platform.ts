import { isBerthError } from '../../model/errors.js';
import type { BerthObject } from '../../model/object.js';
import type { Objects } from '../../model/ports.js';
import { recoveryPoolLabel } from '../../model/records.js';
import type { Life } from './sim-process.js';
import type { NodeShape } from './node-shape.js';
import { wish } from './wish.js';

/** A small platform with something for every rule to decide: what runs of the simulator start from. */

export const nodeShapes: readonly NodeShape[] = [
  {
    name: 'n1',
    region: 'eu',
    zone: 'a',
    labels: { pool: 'general' },
    allocatable: { cpu: '6', memory: '16Gi' },
  },
  {
    name: 'n2',
    region: 'eu',
    zone: 'b',
    labels: { pool: 'general' },
    allocatable: { cpu: '4', memory: '8Gi' },
  },
  {
    ...{ name: 'n3', region: 'eu', zone: 'a', labels: { pool: 'gpu' } },
    allocatable: { cpu: '4', memory: '8Gi', devices: { gpu: 2 } },
    devices: { gpu: ['gpu-1', 'gpu-2'] },
  },
  {
    name: 'n4',
    region: 'us',
    zone: 'a',
    labels: { pool: 'general' },
    allocatable: { cpu: '4', memory: '8Gi' },
  },
  {
    ...{ name: 'n5', region: 'eu', zone: 'b', labels: { pool: 'general', [recoveryPoolLabel]: 'true' } },
    allocatable: { cpu: '4', memory: '8Gi' },
  },
];

const run = { process: { command: ['work'] } };

/** What the users of the platform ask for. */
export const wishes: readonly BerthObject[] = [
  wish('PriorityClass', undefined, 'default', { value: 0 }),
  wish('PriorityClass', undefined, 'critical', { value: 100, recoveryPools: true }),
  wish('Region', undefined, 'eu', { jurisdiction: 'EU', zones: ['a', 'b'] }),
  wish('Region', undefined, 'us', { jurisdiction: 'US', zones: ['a'] }),
  wish('Tenant', undefined, 'alpha', { limit: { cpu: '10', replicas: 10 }, residency: ['EU'] }),
  wish('Tenant', undefined, 'beta', { guaranteed: { cpu: '2' }, limit: { cpu: '9' } }),
  wish('Workload', 'alpha', 'api', {
    ...{ type: 'Service', replicas: 3, priorityClassName: 'critical', disruption: { maxUnavailable: 1 } },
    template: { run, labels: { app: 'api' }, resources: { cpu: '1', memory: '1Gi' } },
    placement: { spread: [{ topology: 'Zone', maxSkew: 1 }] },
  }),
  // Fits where others make room for it.
  wish('Workload', 'alpha', 'burst', {
    ...{ type: 'Service', replicas: 1, priorityClassName: 'critical' },
    template: { run, resources: { cpu: '3', memory: '1Gi' } },
  }),
  wish('Workload', 'alpha', 'train', {
    ...{ type: 'Service', replicas: 2 },
    template: { run, resources: { cpu: '1', devices: { gpu: 1 } }, execution: 'AtMostOne' },
    placement: { nodeSelector: { pool: 'gpu' } },
  }),
  wish('Workload', 'alpha', 'near', {
    ...{ type: 'Service', replicas: 2 },
    template: { run, labels: { app: 'near' }, resources: { cpu: '500m' } },
    placement: {
      zones: ['a'],
      antiAffinity: [{ topology: 'Node', selector: { matchLabels: { app: 'api' } } }],
    },
  }),
  wish('Workload', 'beta', 'web', {
    ...{ type: 'Service', replicas: 2 },
    template: { run, labels: { app: 'web' }, resources: { cpu: '1', ports: ['http:8080', 'admin'] } },
    placement: { antiAffinity: [{ topology: 'Node' }] },
  }),
  wish('Workload', 'beta', 'edge', {
    ...{ type: 'Service', replicas: 2 },
    template: { run, resources: { cpu: '1', ports: ['http:8080'] } },
    placement: { regions: ['us', 'eu'], tolerations: [{ key: 'edge', operator: 'Exists' }] },
  }),
  wish('Workload', 'beta', 'local', {
    ...{ type: 'Service', replicas: 1 },
    template: { run, resources: { cpu: '1' } },
    placement: { regions: ['us'] },
  }),
  wish('Workload', 'beta', 'sums', {
    ...{ type: 'Batch', replicas: 2, batch: { completions: 3, backoffLimit: 100 } },
    template: { run, resources: { cpu: '500m' } },
    placement: { nodeSelector: { pool: 'general' } },
  }),
  wish('Workload', 'beta', 'logs', {
    ...{ type: 'Daemon' },
    template: { run, resources: { cpu: '100m' } },
  }),
  wish('Workload', 'beta', 'crew', {
    ...{ type: 'Service', replicas: 2, gang: { minAvailable: 2 } },
    template: { run, resources: { cpu: '500m' } },
  }),
];

/** Creates what is not there yet, until all of it is. */
export async function makeWishes(
  life: Life,
  objects: Objects,
  wanted: readonly BerthObject[],
): Promise<void> {
  for (const wanting of wanted) {
    const { kind, metadata } = wanting;
    while (objects.get(kind, metadata.namespace, metadata.name) === undefined) {
      try {
        await objects.create(kind, metadata.namespace, wanting);
      } catch (error) {
        if (!isBerthError(error)) throw error;
        await life.env.sleep(300);
      }
    }
  }
}

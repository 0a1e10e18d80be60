import { isBerthError } from '../../model/errors.js';
import type { BerthObject } from '../../model/object.js';
import type { Objects } from '../../model/ports.js';
import { recoveryPoolLabel } from '../../model/records.js';
import type { Life } from './sim-process.js';
import type { NodeShape } from './agent.js';

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

const object = (kind: string, namespace: string | undefined, name: string, spec: object): BerthObject =>
  ({
    apiVersion: 'berth.dev/v1',
    kind,
    metadata: { name, ...(namespace !== undefined && { namespace }) },
    spec,
  }) as unknown as BerthObject;

const run = { process: { command: ['work'] } };

/** What the users of the platform ask for. */
export const wishes: readonly BerthObject[] = [
  object('PriorityClass', undefined, 'default', { value: 0 }),
  object('PriorityClass', undefined, 'critical', { value: 100, recoveryPools: true }),
  object('Region', undefined, 'eu', { jurisdiction: 'EU', zones: ['a', 'b'] }),
  object('Region', undefined, 'us', { jurisdiction: 'US', zones: ['a'] }),
  object('Tenant', undefined, 'alpha', { limit: { cpu: '10', replicas: 10 }, residency: ['EU'] }),
  object('Tenant', undefined, 'beta', { guaranteed: { cpu: '2' }, limit: { cpu: '9' } }),
  object('Workload', 'alpha', 'api', {
    ...{ type: 'Service', replicas: 3, priorityClassName: 'critical', disruption: { maxUnavailable: 1 } },
    template: { run, labels: { app: 'api' }, resources: { cpu: '1', memory: '1Gi' } },
    placement: { spread: [{ topology: 'Zone', maxSkew: 1 }] },
  }),
  // Fits where others make room for it.
  object('Workload', 'alpha', 'burst', {
    ...{ type: 'Service', replicas: 1, priorityClassName: 'critical' },
    template: { run, resources: { cpu: '3', memory: '1Gi' } },
  }),
  object('Workload', 'alpha', 'train', {
    ...{ type: 'Service', replicas: 2 },
    template: { run, resources: { cpu: '1', devices: { gpu: 1 } }, execution: 'AtMostOne' },
    placement: { nodeSelector: { pool: 'gpu' } },
  }),
  object('Workload', 'alpha', 'near', {
    ...{ type: 'Service', replicas: 2 },
    template: { run, labels: { app: 'near' }, resources: { cpu: '500m' } },
    placement: {
      zones: ['a'],
      antiAffinity: [{ topology: 'Node', selector: { matchLabels: { app: 'api' } } }],
    },
  }),
  object('Workload', 'beta', 'web', {
    ...{ type: 'Service', replicas: 2 },
    template: { run, labels: { app: 'web' }, resources: { cpu: '1', ports: ['http:8080', 'admin'] } },
    placement: { antiAffinity: [{ topology: 'Node' }] },
  }),
  object('Workload', 'beta', 'edge', {
    ...{ type: 'Service', replicas: 2 },
    template: { run, resources: { cpu: '1', ports: ['http:8080'] } },
    placement: { regions: ['us', 'eu'], tolerations: [{ key: 'edge', operator: 'Exists' }] },
  }),
  object('Workload', 'beta', 'local', {
    ...{ type: 'Service', replicas: 1 },
    template: { run, resources: { cpu: '1' } },
    placement: { regions: ['us'] },
  }),
  object('Workload', 'beta', 'sums', {
    ...{ type: 'Batch', replicas: 2, batch: { completions: 3, backoffLimit: 100 } },
    template: { run, resources: { cpu: '500m' } },
    placement: { nodeSelector: { pool: 'general' } },
  }),
  object('Workload', 'beta', 'crew', {
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
  for (const wish of wanted) {
    const { kind, metadata } = wish;
    while (objects.get(kind, metadata.namespace, metadata.name) === undefined) {
      try {
        await objects.create(kind, metadata.namespace, wish);
      } catch (error) {
        if (!isBerthError(error)) throw error;
        await life.env.sleep(300);
      }
    }
  }
}

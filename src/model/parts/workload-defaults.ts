import { fenceContract } from '../fence-contract.js';
import { fillIn, isObject, valueAt } from '../fill-in.js';
import type { BerthObject, Json } from '../object.js';
import { probeDefaults } from './probe.js';

const isThere = (value: unknown): boolean => value !== undefined && value !== null;
const wholeNumber = (value: unknown, fallback: number): number =>
  Number.isInteger(value) ? Number(value) : fallback;

/** What onNodeLost means where it says nothing: the strongest promise that execution and driver allow. */
export function defaultLostAction(spec: unknown): 'Fence' | 'Replace' | 'Wait' {
  if (valueAt(spec, 'template', 'execution') !== 'AtMostOne') return 'Replace';
  return isThere(valueAt(spec, 'template', 'run', 'container')) ? 'Wait' : 'Fence';
}

/** Fence has none of its own: it acts as soon as the fence of the cell has expired for certain. */
const defaultAfterSeconds: Readonly<Record<string, { readonly afterSeconds: number } | undefined>> = {
  Replace: { afterSeconds: 45 },
  Wait: { afterSeconds: 300 },
};

function fillEach(list: unknown, defaults: Json): unknown {
  return Array.isArray(list) ? list.map((item: unknown) => fillIn(item, defaults)) : list;
}

function withListDefaults(spec: unknown): unknown {
  const placement = valueAt(spec, 'placement');
  if (!isObject(spec) || !isObject(placement)) return spec;
  const neighbour = { mode: 'Required' };
  const lists = {
    affinity: fillEach(valueAt(placement, 'affinity'), neighbour),
    antiAffinity: fillEach(valueAt(placement, 'antiAffinity'), neighbour),
    spread: fillEach(valueAt(placement, 'spread'), { maxSkew: 1, mode: 'Required' }),
    tolerations: fillEach(valueAt(placement, 'tolerations'), { operator: 'Equal' }),
  };
  const given = Object.fromEntries(Object.entries(lists).filter(([, list]) => list !== undefined));
  return { ...spec, placement: { ...placement, ...given } };
}

/**
 * Fills in a Workload. What is filled in depends on what was given, so that it is never refused for a value
 * that nobody wrote (DESIGN §3: defaults always form a valid combination).
 */
export function withWorkloadDefaults(object: BerthObject): BerthObject {
  const { spec } = object as { readonly spec?: unknown };
  if (!isObject(spec)) return object;

  const isDaemon = valueAt(spec, 'type') === 'Daemon';
  const isAtMostOne = valueAt(spec, 'template', 'execution') === 'AtMostOne';
  const replicas = wholeNumber(valueAt(spec, 'replicas'), 1);
  const completions = wholeNumber(valueAt(spec, 'batch', 'completions'), Math.max(1, replicas));
  const givenAction = valueAt(spec, 'onNodeLost', 'action');
  const action = typeof givenAction === 'string' ? givenAction : defaultLostAction(spec);
  const maxSurge = wholeNumber(valueAt(spec, 'rollout', 'maxSurge'), isAtMostOne || isDaemon ? 0 : 1);
  const isBatch = valueAt(spec, 'type') === 'Batch';

  const defaults = {
    type: 'Service',
    ...(isDaemon ? {} : { replicas: 1 }),
    suspend: false,
    priorityClassName: 'default',
    template: {
      ...(isThere(valueAt(spec, 'template', 'readiness')) ? { readiness: probeDefaults } : {}),
      ...(isThere(valueAt(spec, 'template', 'liveness')) ? { liveness: probeDefaults } : {}),
      execution: 'AtLeastOne',
      startDeadlineSeconds: 300,
      terminationGraceSeconds: fenceContract.graceSeconds - fenceContract.killMarginSeconds,
      minReadySeconds: 0,
      restart: { budget: 5, windowSeconds: 600 },
    },
    placement: {
      freshness: { maxNodeAgeSeconds: 15, onStale: isAtMostOne ? 'Wait' : 'Bind' },
      authority: 'Regional',
    },
    onNodeLost: { action, ...defaultAfterSeconds[action] },
    disruption: { maxUnavailable: 1 },
    rollout: {
      maxSurge,
      maxUnavailable: maxSurge > 0 ? 0 : 1,
      progressDeadlineSeconds: 600,
      onDeadline: 'Pause',
    },
    ...(isThere(valueAt(spec, 'gang'))
      ? { gang: { minAvailable: Math.max(1, isBatch ? Math.min(replicas, completions) : replicas) } }
      : {}),
    ...(isBatch ? { batch: { completions, backoffLimit: 6 } } : {}),
    ...(isThere(valueAt(spec, 'autoscale')) ? { autoscale: { min: 1 } } : {}),
  };
  // Without a template there is nothing to fill in there; the schema says that it is missing.
  const { template, ...others } = defaults;
  const filled = fillIn(spec, isThere(valueAt(spec, 'template')) ? { ...others, template } : others);
  return { ...object, spec: withListDefaults(filled) as Readonly<Record<string, unknown>> };
}

import { fenceContract } from '../fence-contract.js';
import { checkLabelSelector } from '../label-selector.js';
import { checkLabels } from '../labels.js';
import type { FieldError } from '../object.js';
import type { Placement } from './placement.js';
import { checkRunWords } from './run-words.js';
import type { Template } from './template.js';
import { defaultLostAction } from './workload-defaults.js';
import type { WorkloadSpec } from './workload-spec.js';
import { variablePart } from '../variable-part.js';

type Rule = (spec: WorkloadSpec) => readonly FieldError[];

const when = (isWrong: boolean, error: FieldError): readonly FieldError[] => (isWrong ? [error] : []);

/** [S5] What AtMostOne and Fence promise must be something that the machines can keep. */
const lostRule: Rule = (spec) => {
  const isAtMostOne = spec.template.execution === 'AtMostOne';
  const action = spec.onNodeLost?.action ?? defaultLostAction(spec);
  const afterSeconds = spec.onNodeLost?.afterSeconds;
  const path = 'spec.onNodeLost.action';
  return [
    ...when(isAtMostOne && action === 'Replace', {
      path,
      value: action,
      reason: 'Forbidden',
      message:
        'AtMostOne cannot be replaced while the lost replica may still run: use Fence, or Wait where the driver cannot fence',
    }),
    ...when(action === 'Fence' && !isAtMostOne, {
      path,
      value: action,
      reason: 'Forbidden',
      message:
        'only AtMostOne replicas stop by themselves, which Fence relies on: use Replace or Wait, or execution AtMostOne',
    }),
    ...when(action === 'Fence' && spec.template.run.container !== undefined, {
      path,
      value: action,
      reason: 'Forbidden',
      message: 'FenceUnsupported: a container cannot be fenced: use Wait, or run a process',
    }),
    ...when(action === 'Fence' && afterSeconds !== undefined && afterSeconds < fenceContract.windowSeconds, {
      path: 'spec.onNodeLost.afterSeconds',
      value: afterSeconds,
      reason: 'Invalid',
      message: `Fence needs at least ${fenceContract.windowSeconds}, the time after which a lost replica has stopped for certain`,
    }),
  ];
};

const rolloutRule: Rule = ({ rollout = {}, template, type }) => {
  const { maxSurge, maxUnavailable } = rollout;
  const isAtMostOne = template.execution === 'AtMostOne';
  const surges = maxSurge !== undefined && maxSurge > 0;
  return [
    ...when(isAtMostOne && surges, {
      path: 'spec.rollout.maxSurge',
      value: maxSurge,
      reason: 'Forbidden',
      message: 'AtMostOne allows only 0: the old replica must have stopped before the new one starts',
    }),
    ...when(isAtMostOne && maxUnavailable === 0, {
      path: 'spec.rollout.maxUnavailable',
      value: maxUnavailable,
      reason: 'Forbidden',
      message: 'AtMostOne needs at least 1: a rollout must stop a replica before it starts the next',
    }),
    ...when(type === 'Daemon' && surges, {
      path: 'spec.rollout.maxSurge',
      value: maxSurge,
      reason: 'Forbidden',
      message: 'a Daemon allows only 0: each node has one slot',
    }),
    ...when(
      !isAtMostOne &&
        maxUnavailable === 0 &&
        (maxSurge === 0 || (maxSurge === undefined && type === 'Daemon')),
      {
        path: 'spec.rollout.maxUnavailable',
        value: maxUnavailable,
        reason: 'Invalid',
        message: 'needs at least 1 when maxSurge is 0, or no rollout could ever make a step',
      },
    ),
  ];
};

const typeRule: Rule = (spec) => {
  const type = spec.type ?? 'Service';
  const forbidden = (field: 'replicas' | 'gang' | 'autoscale' | 'batch', isWrong: boolean, message: string) =>
    when(isWrong && spec[field] !== undefined, {
      path: `spec.${field}`,
      value: spec[field],
      reason: 'Forbidden',
      message,
    });
  return [
    ...forbidden('batch', type !== 'Batch', `only type Batch may have it, not ${type}`),
    ...forbidden('replicas', type === 'Daemon', 'a Daemon runs one replica on every suitable node'),
    ...forbidden('gang', type === 'Daemon', 'a Daemon starts node by node, never as a gang'),
    ...forbidden('autoscale', type === 'Daemon', 'a Daemon is scaled by the number of nodes'),
  ];
};

const scaleRule: Rule = ({ replicas, gang, batch, autoscale }) => {
  const most = Math.min(replicas ?? 1, batch?.completions ?? Number.POSITIVE_INFINITY);
  const minAvailable = gang?.minAvailable;
  return [
    ...when(minAvailable !== undefined && replicas !== 0 && minAvailable > most, {
      path: 'spec.gang.minAvailable',
      value: minAvailable,
      reason: 'Invalid',
      message: `must be at most ${most}: more never exist at once, so the gang could not start`,
    }),
    ...when(autoscale?.min !== undefined && autoscale.min > autoscale.max, {
      path: 'spec.autoscale.min',
      value: autoscale?.min,
      reason: 'Invalid',
      message: `must be at most max, which is ${autoscale?.max}`,
    }),
    ...when(autoscale !== undefined && Object.keys(autoscale.target).length === 0, {
      path: 'spec.autoscale.target',
      reason: 'Required',
      message: 'needs at least one of cpu, memory',
    }),
  ];
};

function exactlyOne(
  path: string,
  value: object | undefined,
  names: readonly string[],
): readonly FieldError[] {
  if (value === undefined) return [];
  const given = names.filter((name) => Object.hasOwn(value, name));
  return when(given.length !== 1, {
    path,
    ...(given.length > 1 && { value: given }),
    reason: given.length === 0 ? 'Required' : 'Invalid',
    message: `needs exactly one of ${names.join(', ')}`,
  });
}

function checkTemplate(
  path: string,
  { run, readiness, liveness, resources, labels }: Template,
): readonly FieldError[] {
  const classes = Object.keys(resources?.devices ?? {});
  const portNames = (resources?.ports ?? []).map((port) => port.split(':')[0] ?? '');
  const probes = Object.entries({ readiness, liveness }).flatMap(([name, probe]) => {
    const at = `${path}.${name}`;
    const port = probe?.http?.port ?? probe?.tcp?.port;
    return [
      ...exactlyOne(at, probe, ['http', 'tcp', 'exec']),
      ...when(typeof port === 'string' && !portNames.includes(port), {
        path: `${at}.${probe?.http === undefined ? 'tcp' : 'http'}.port`,
        value: port,
        reason: 'NotSupported',
        message:
          portNames.length === 0
            ? 'names no port: resources.ports is empty'
            : `must be a number or one of resources.ports: ${portNames.join(', ')}`,
      }),
    ];
  });
  return [
    ...exactlyOne(`${path}.run`, run, ['process', 'container']),
    ...probes,
    ...checkLabels(`${path}.labels`, labels),
    ...portNames.flatMap((name, index) =>
      when(portNames.indexOf(name) !== index, {
        path: `${path}.resources.ports[${index}]`,
        value: resources?.ports?.[index],
        reason: 'Duplicate',
        message: `the port name ${name} is taken`,
      }),
    ),
    // Names of ports have no character but - that is replaced, and so never become one.
    ...classes.flatMap((name, index) => {
      const same = classes.find((each) => variablePart(each) === variablePart(name));
      return when(same !== classes[index], {
        path: `${path}.resources.devices.${name}`,
        value: resources?.devices?.[name],
        reason: 'Duplicate',
        message: `the ids of ${same} are in BERTH_DEVICES_${variablePart(name)} already`,
      });
    }),
  ];
}

function checkPlacement(path: string, placement: Placement = {}): readonly FieldError[] {
  const neighbours = (['affinity', 'antiAffinity'] as const).flatMap((list) =>
    (placement[list] ?? []).flatMap(({ selector, mode, weight }, index) => [
      ...(selector === undefined ? [] : checkLabelSelector(`${path}.${list}[${index}].selector`, selector)),
      ...when(list === 'affinity' && selector === undefined, {
        path: `${path}.affinity[${index}].selector`,
        reason: 'Required',
        message: 'says which replicas to be near to',
      }),
      ...when(weight !== undefined && mode !== 'Preferred', {
        path: `${path}.${list}[${index}].weight`,
        value: weight,
        reason: 'Forbidden',
        message: 'only a Preferred rule has a weight',
      }),
    ]),
  );
  const tolerations = (placement.tolerations ?? []).flatMap(({ key, operator = 'Equal', value }, index) => [
    ...when(key === undefined && operator === 'Equal', {
      path: `${path}.tolerations[${index}].key`,
      reason: 'Required',
      message: 'Equal needs a key; Exists without a key tolerates everything',
    }),
    ...when(operator === 'Exists' && value !== undefined, {
      path: `${path}.tolerations[${index}].value`,
      value,
      reason: 'Forbidden',
      message: 'Exists compares no value',
    }),
  ]);
  return [...checkLabels(`${path}.nodeSelector`, placement.nodeSelector), ...neighbours, ...tolerations];
}

/** Every combination in a workload's spec that cannot keep its promise, at once. */
export function checkWorkloadSpec(spec: WorkloadSpec): readonly FieldError[] {
  return [
    ...checkTemplate('spec.template', spec.template),
    ...checkRunWords(spec.template),
    ...checkPlacement('spec.placement', spec.placement),
    ...[typeRule, lostRule, rolloutRule, scaleRule].flatMap((rule) => rule(spec)),
  ];
}

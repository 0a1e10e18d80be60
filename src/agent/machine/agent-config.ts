import type { Static } from 'typebox';
import { defineKind } from '../../model/define-kind.js';
import { choice, count, listByKey, mapOf, record, setOf, text } from '../../model/fields.js';
import { checkLabelKey, checkLabelValue } from '../../model/labels.js';
import type { FieldError } from '../../model/object.js';
import { amountFields } from '../../model/parts/amounts.js';
import { leaseSecondsField } from '../lease-seconds.js';
import { readSpecFile } from '../read-spec-file.js';

const spec = record(
  'What an agent is told of its machine. What is left out is found out.',
  {},
  {
    allocatable: record(
      'What of the machine is for replicas.',
      {},
      { cpu: amountFields.cpu, memory: amountFields.memory },
    ),
    devices: mapOf(
      'Its devices by class.',
      setOf('The devices of this class.', text('The id of a device.', { minLength: 1, maxLength: 253 })),
    ),
    labels: mapOf('Labels of a node that is not there yet.', text('The value of the label.')),
    taints: listByKey(
      'Taints of a node that is not there yet.',
      ['key', 'effect'],
      record(
        'One taint.',
        {
          key: text('The key of the taint.', { minLength: 1 }),
          effect: choice('What it does.', ['NoSchedule', 'PreferNoSchedule', 'NoExecute']),
        },
        { value: text('The value of the taint.') },
      ),
    ),
    address: text('Where what runs here is reached: the address that replicas listen at.', {
      minLength: 1,
      maxLength: 253,
    }),
    leaseSeconds: leaseSecondsField,
    containerSocket: text(
      'The socket of its Podman or Docker. The first that is found if left out: see docs/agents.md.',
      { minLength: 1, maxLength: 107 },
    ),
    metrics: text(
      'Where /metrics is served, ADDRESS:PORT, for those with the token in DIR/metrics-token. Default "127.0.0.1:7480" for berth agent, nowhere for berth up.',
      { minLength: 1, maxLength: 300 },
    ),
    runAs: text(
      'One user that processes of all tenants run as, if the agent runs as root; "root" allows everything. Each tenant has its own if left out.',
      { minLength: 1, maxLength: 64 },
    ),
    tenantUsers: record(
      'The ids of users and groups that tenants get, if the agent runs as root. Nothing else may have them. Default 2001000000 to 2100999999.',
      {
        from: count('The first of them.', { minimum: 1_000 }),
        count: count('How many. Fewer make it likelier that two tenants share one.', { minimum: 1 }),
      },
      {},
    ),
  },
);

export type AgentConfigSpec = Static<typeof spec>;

/** The form of an agent's config file. It is no kind of the API: only the agent reads it. */
const agentConfig = defineKind({
  ...{ kind: 'AgentConfig', plural: 'agentconfigs', singular: 'agentconfig', scope: 'Cluster' },
  ...{ isApplied: false, columns: [] },
  description: 'What an agent is told of its machine.',
  spec,
  writers: { spec: 'nobody', status: 'nobody' },
  check: ({ spec: { labels = {}, taints = [] } }): FieldError[] => [
    ...Object.entries(labels).flatMap(([key, value]) => [
      ...checkLabelKey('spec.labels', key),
      ...checkLabelValue(`spec.labels.${key}`, value),
    ]),
    ...taints.flatMap(({ key }, index) => checkLabelKey(`spec.taints[${index}].key`, key)),
  ],
});

export const readAgentConfig = (contents: string, file: string): AgentConfigSpec =>
  // A parsed boundary: the form has been checked.
  readSpecFile(contents, file, agentConfig, 'InvalidAgentConfig') as AgentConfigSpec;

import type { Static } from 'typebox';
import { choice, count, flag, nameOf, record, seconds, text } from '../fields.js';
import { placement } from './placement.js';
import { template } from './template.js';

/** What a user asks for with a Workload. The combinations that are refused are in workload-rules.ts. */
export const workloadSpec = record(
  'What should run.',
  { template },
  {
    type: choice(
      'Service: keeps running. Batch: runs to completion. Daemon: one on every suitable node. Default Service. Cannot be changed.',
      ['Service', 'Batch', 'Daemon'],
    ),
    replicas: count('How many replicas; for a Batch how many at once; not for a Daemon. Default 1.', {
      maximum: 1_000_000,
    }),
    suspend: flag('Keeps new replicas from being scheduled. What runs goes on. Default false.'),
    priorityClassName: nameOf('The priority class of its replicas. Default "default".'),
    placement,
    onNodeLost: record(
      'What happens to replicas on a node that is no longer heard of.',
      {},
      {
        action: choice(
          'Fence: replaced once they have stopped for certain. Replace: replaced although they may still run. Wait: nothing, until the node or a person says more. Default Replace for AtLeastOne, Fence for AtMostOne, Wait for AtMostOne in a container.',
          ['Fence', 'Replace', 'Wait'],
        ),
        afterSeconds: seconds(
          'How long after the last renewal seen; for Wait, when a person is asked. At least 130 for Fence. Default 45 for Replace, 300 for Wait; for Fence the fence window of the cell.',
        ),
      },
    ),
    gang: record(
      'Replicas that start together or not at all.',
      {},
      { minAvailable: count('How many must be placed at once. Default all replicas.', { minimum: 1 }) },
    ),
    disruption: record(
      'One limit for every voluntary cause: rollout, drain, preemption by priority.',
      {},
      { maxUnavailable: count('How many replicas may be disrupted at once. 0 forbids it. Default 1.') },
    ),
    rollout: record(
      'How a change of the template reaches the replicas.',
      {},
      {
        maxSurge: count(
          'How many replicas above the desired number may exist meanwhile. Default 1; 0 for AtMostOne and for a Daemon, which allow no other.',
        ),
        maxUnavailable: count(
          'How many replicas may be missing meanwhile. Default 0 where maxSurge is above 0, else 1.',
        ),
        progressDeadlineSeconds: seconds('How long it may go without progress. Default 600.', { minimum: 1 }),
        onDeadline: choice('Pause: go no further. Rollback: return to the last revision. Default Pause.', [
          'Pause',
          'Rollback',
        ]),
        paused: flag('Stops the rollout where it is. Default false.'),
      },
    ),
    batch: record(
      'How a Batch ends. Only for type Batch.',
      {},
      {
        completions: count('How many slots must succeed. Default as many as replicas.', { minimum: 1 }),
        backoffLimit: count('How many failures of a slot are retried before the batch failed. Default 6.'),
        ttlSecondsAfterFinished: seconds(
          'How long after its end the workload is deleted. Never if left out.',
        ),
        schedule: text('When it is run again, as a cron expression in UTC: "0 2 * * *".', {
          format: 'cron',
          maxLength: 256,
        }),
      },
    ),
    autoscale: record(
      'Lets Berth choose the number of replicas.',
      {
        max: count('The most replicas.', { minimum: 1, maximum: 1_000_000 }),
        target: record(
          'What to aim at. At least one.',
          {},
          {
            cpu: count('Use of the processor, in percent of what is asked for.', {
              minimum: 1,
              maximum: 1_000,
            }),
            memory: count('Use of memory, in percent of what is asked for.', { minimum: 1, maximum: 1_000 }),
          },
        ),
      },
      { min: count('The fewest replicas. Default 1.') },
    ),
  },
);

export type WorkloadSpec = Static<typeof workloadSpec>;

import type { Static } from 'typebox';
import {
  choice,
  count,
  listByKey,
  listOf,
  mapOf,
  quantity,
  record,
  seconds,
  setOf,
  text,
} from '../fields.js';
import { amountFields } from './amounts.js';
import { probe } from './probe.js';

const commandLine = (description: string, minItems: number) =>
  listOf(description, text('A word of the command line.', { maxLength: 131_071 }), { minItems });

/** What one replica is: what runs, what it needs, how its health is known, and what may be assumed of it. */
export const template = record(
  'What each replica runs, needs and promises. A change of it is a rollout.',
  {
    run: record(
      'What is run. Exactly one of process and container.',
      {},
      {
        process: record(
          'A process directly on the node.',
          {
            command: commandLine(
              'The program and its arguments; $(NAME) stands for an environment variable.',
              1,
            ),
          },
          { workingDirectory: text('The directory it starts in; its own scratch directory if left out.') },
        ),
        container: record(
          'A container of Podman or Docker on the node.',
          { image: text('The image, with tag or digest.', { minLength: 1 }) },
          {
            command: commandLine("Replaces the image's entry point.", 1),
            args: commandLine("Replaces the image's arguments.", 0),
            workingDirectory: text("The directory it starts in; the image's own if left out."),
            pullPolicy: choice(
              'Whether the image is asked for where the node has it. Default Always for a tag that moves (latest, or none), else IfNotPresent.',
              ['Always', 'IfNotPresent', 'Never'],
            ),
          },
        ),
        env: listByKey(
          'Environment variables, beside those that Berth sets (BERTH_SLOT, BERTH_FENCE, BERTH_PORT_<name>, …).',
          ['name'],
          record('One environment variable.', {
            name: text('The name of the variable.', { format: 'env-name', maxLength: 253 }),
            value: text('Its value.', { maxLength: 131_071 }),
          }),
        ),
      },
    ),
  },
  {
    labels: mapOf('Labels that its replicas carry, for selectors.', text('The value of the label.'), 'label'),
    resources: record(
      'What one replica needs. It is charged with this and is held to it.',
      {},
      {
        ...amountFields,
        ports: setOf(
          'Ports on the node, each its own alone: a name lets Berth pick a free one, "http:8080" asks for that one.',
          text('A port: name, or name:number.', { format: 'port', maxLength: 21 }),
          { maxItems: 64 },
        ),
      },
    ),
    readiness: probe(
      'Whether it can take traffic. Failing takes it out of the endpoints, and does nothing else.',
    ),
    liveness: probe('Whether it is alive. Failing restarts it on its node, within the restart budget.'),
    execution: choice(
      'AtLeastOne: replace quickly, even if two may run for a while. AtMostOne: never two at once, even if it must wait. Default AtLeastOne.',
      ['AtLeastOne', 'AtMostOne'],
    ),
    startDeadlineSeconds: seconds(
      'How long it may take from bound to ready before the start failed. Default 300.',
      {
        minimum: 1,
      },
    ),
    terminationGraceSeconds: seconds(
      'How long it gets to stop after being asked, before it is killed. Default 8. A fence does not wait longer than 8.',
    ),
    scratchLimit: quantity(
      'How much its scratch directory may hold: 1Gi. It is ended (DiskQuotaExceeded) soon after it holds more. Only for a process; not limited if left out.',
      'bytes',
    ),
    minReadySeconds: seconds('How long it must stay ready before it takes traffic. Default 0.'),
    restart: record(
      'How often it is restarted on its node before it counts as failed.',
      {},
      {
        budget: count('How many restarts are allowed within the window. Default 5.'),
        windowSeconds: seconds('The window that restarts are counted in. Default 600.', { minimum: 1 }),
      },
    ),
  },
);

export type Template = Static<typeof template>;

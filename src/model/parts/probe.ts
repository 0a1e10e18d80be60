import { count, intOrText, listOf, record, seconds, text } from '../fields.js';

const port = intOrText('A port of the replica: its name in resources.ports, or a number.', {
  maximum: 65_535,
});

/** A question that the agent asks a replica again and again. Exactly one way of asking is given. */
export const probe = (description: string) =>
  record(
    description,
    {},
    {
      http: record(
        'Passes if a GET is answered with a status from 200 to 399.',
        { port },
        { path: text('The path asked for; / if left out.', { minLength: 1, maxLength: 2_048 }) },
      ),
      tcp: record('Passes if a connection can be made.', { port }),
      exec: record('Passes if the command, run beside the replica, exits with 0.', {
        command: listOf('The program and its arguments.', text('A word of the command line.'), {
          minItems: 1,
        }),
      }),
      initialDelaySeconds: seconds('How long after the start the first probe is sent. Default 0.'),
      periodSeconds: seconds('How often it is asked. Default 10.', { minimum: 1 }),
      timeoutSeconds: seconds('How long an answer may take. Default 1.', { minimum: 1 }),
      successThreshold: count('How many must pass in a row to count as passed. Default 1.', { minimum: 1 }),
      failureThreshold: count('How many must fail in a row to count as failed. Default 3.', { minimum: 1 }),
    },
  );

export const probeDefaults = {
  initialDelaySeconds: 0,
  periodSeconds: 10,
  timeoutSeconds: 1,
  successThreshold: 1,
  failureThreshold: 3,
} as const;

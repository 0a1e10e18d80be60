import type { Command } from 'commander';
import { formatDuration } from '../model/duration.js';
import { clientCommand } from './client-command.js';
import { usageFailure } from './command-failure.js';
import { nodeIn } from './drain.js';
import { durationOf } from './option-values.js';
import { type ClientOptions, inSession } from './session.js';
import { print } from './terminal.js';

interface AttestOptions extends ClientOptions {
  readonly stopped?: boolean;
  readonly withdraw?: boolean;
  readonly reason?: string;
  readonly for: number;
}

const usualMs = 3_600_000;

export const attestCommand = (): Command =>
  clientCommand(
    'attest',
    'give your word that what ran on a node has stopped, so that it may be released without proof',
  )
    .argument('<node>', 'the node, as NAME or node/NAME')
    .option('--stopped', 'what ran there has stopped: you have looked, or the machine is off')
    .option('--withdraw', 'take the word back; what was released on it stays released')
    .option('--reason <text>', 'how you know; it is recorded with your name')
    .option('--for <duration>', 'how long it counts', durationOf, usualMs)
    .action((word: string, options: AttestOptions) =>
      inSession(options, async ({ client }) => {
        const name = nodeIn(word);
        const path = `/apis/authority.berth.dev/v1/attestations/${encodeURIComponent(name)}`;
        if (options.withdraw === true) {
          await client.ask(`${path}/withdraw`, {});
          print(`node/${name} attestation withdrawn`);
          return;
        }
        if (options.stopped !== true)
          throw usageFailure('say what you attest: --stopped, or --withdraw to take it back');
        if (options.reason === undefined) throw usageFailure('say how you know: --reason TEXT');
        const forSeconds = Math.ceil(options.for / 1_000);
        const said = (await client.ask(path, { reason: options.reason, forSeconds })) as {
          readonly by: string;
        };
        print(`node/${name} attested stopped by ${said.by}, for ${formatDuration(options.for)}`);
      }),
    );

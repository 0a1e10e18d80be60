import { Command } from 'commander';
import { durationOf, serversOf } from './option-values.js';

/** A command that talks to a server, with the options that all of these have. */
export const clientCommand = (name: string, description: string): Command =>
  new Command(name)
    .description(description)
    .option('--config <file>', 'the kubeconfig that names the server (BERTH_CONFIG, KUBECONFIG)')
    .option('--context <name>', 'which of its contexts, if not the current one')
    .option(
      '--server <urls>',
      'the servers of the cell, if not those of the kubeconfig: URL[,URL…]',
      serversOf,
    )
    .option('-n, --namespace <name>', 'the namespace (tenant) to look in')
    .option('--timeout <duration>', 'how long to wait at most (30s)', durationOf);

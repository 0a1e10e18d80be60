import type { Command } from 'commander';
import { shownAge } from '../model/age.js';
import { type KnownUsage, type UsagePage, usagePath } from '../model/usage.js';
import { clientCommand } from './client-command.js';
import { outputOption } from './option-values.js';
import { formatValue } from './print-objects.js';
import { formatTable } from './print-table.js';
import { replicasOf, targetHelp } from './replica-targets.js';
import { type ClientOptions, inSession } from './session.js';
import { print, say } from './terminal.js';

interface TopOptions extends ClientOptions {
  readonly allNamespaces?: boolean;
  readonly output?: 'json' | 'yaml';
}

const mebi = 2 ** 20;

export const topCommand = (): Command =>
  clientCommand('top', 'show what replicas use now, as their nodes have told')
    .argument('[target]', targetHelp)
    .option('-A, --all-namespaces', 'in every namespace')
    .addOption(outputOption(['json', 'yaml']))
    .action((target: string | undefined, options: TopOptions) =>
      inSession(options, async (session) => {
        const { client, namespace } = session;
        // A target is of one namespace.
        const isEverywhere = options.allNamespaces === true && target === undefined;
        const names = target === undefined ? undefined : (await replicasOf(session, target)).names;
        const query = new URLSearchParams(isEverywhere ? {} : { namespace });
        const page = (await client.read(usagePath, { query })) as UsagePage;
        const items = page.items
          .filter(({ name }) => names === undefined || names.includes(name))
          .toSorted((a, b) => (shownName(a) < shownName(b) ? -1 : 1));
        if (options.output === undefined) printUsage(items, isEverywhere);
        else print(await formatValue({ ...page, items }, options.output));
        if (page.more > 0) say(`warning: ${page.more} more were left out`);
        for (const { server, message } of page.unanswered)
          say(`warning: the nodes that are connected to server ${server} are missing: ${message}`);
      }),
    );

const shownName = ({ namespace, name }: KnownUsage): string => `${namespace}/${name}`;

function printUsage(items: readonly KnownUsage[], isEverywhere: boolean): void {
  if (items.length === 0)
    return say(
      'no node has told yet what replicas use here; hollow nodes never do, the others as they renew',
    );
  const heads = ['REPLICA', 'NODE', 'CPU', 'MEMORY', 'RESTARTS', 'OOM KILLS', 'TOLD'];
  const rows = items.map((item) => [
    ...(isEverywhere ? [item.namespace] : []),
    ...[item.name, item.node],
    item.cpuCores === undefined ? '-' : `${Math.round(item.cpuCores * 1_000)}m`,
    item.memoryBytes === undefined ? '-' : `${Math.ceil(item.memoryBytes / mebi)}Mi`,
    ...[String(item.restarts), String(item.oomKills), `${shownAge(item.ageSeconds * 1_000)} ago`],
  ]);
  print(formatTable(isEverywhere ? ['NAMESPACE', ...heads] : heads, rows));
}

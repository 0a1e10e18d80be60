import type { Command } from 'commander';
import { wallMs } from '../env/instant.js';
import { shownAge } from '../model/age.js';
import type { Attention } from '../model/attention.js';
import { clientCommand } from './client-command.js';
import { outputOption } from './option-values.js';
import { formatValue } from './print-objects.js';
import { formatTable } from './print-table.js';
import { type ClientOptions, inSession } from './session.js';
import { print, say } from './terminal.js';

export const statusCommand = (): Command =>
  clientCommand('status', 'say what needs attention now, worst first, and whose move it is')
    .addOption(outputOption(['json', 'yaml']))
    .action((options: ClientOptions & { output?: 'json' | 'yaml' }) =>
      inSession(options, async ({ client, env }) => {
        const attention = (await client.read('/attention')) as Attention;
        if (options.output !== undefined) {
          print(await formatValue(attention, options.output));
          return;
        }
        const { items, more, looked } = attention;
        const nowMs = wallMs(env.clock.wall());
        const rows = items.map(({ severity, kind, namespace, name, reason, since, nextMove, message }) => [
          severity,
          `${kind.toLowerCase()}/${name}`,
          namespace ?? '',
          reason,
          since === undefined ? '' : shownAge(nowMs - Date.parse(since)),
          nextMove,
          message,
        ]);
        const heads = ['SEVERITY', 'OBJECT', 'NAMESPACE', 'REASON', 'FOR', 'NEXT MOVE', 'MESSAGE'];
        if (rows.length > 0) print(formatTable(heads, rows));
        if (more > 0) say(`and ${more} more`);
        const found = rows.length + more;
        const words =
          found < 2 ? `${found === 0 ? 'nothing' : 'one'} needs attention` : `${found} need attention`;
        const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;
        say(
          `${words}; looked at ${counted(looked.nodes, 'node')} and ${counted(looked.workloads, 'workload')}`,
        );
      }),
    );

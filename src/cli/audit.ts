import type { Command } from 'commander';
import { clientCommand } from './client-command.js';
import { exitCodes } from './exit-codes.js';
import { outputOption } from './option-values.js';
import { formatValue } from './print-objects.js';
import { inSession, type ClientOptions } from './session.js';
import { print, say } from './terminal.js';

interface Audit {
  readonly revision: string;
  readonly checked: Readonly<Record<string, number>>;
  readonly differences: readonly {
    readonly rule: string;
    readonly keys: readonly string[];
    readonly found: string;
    readonly expected: string;
  }[];
  readonly more: number;
}

const auditPath = '/apis/authority.berth.dev/v1/audit';

export const auditCommand = (): Command =>
  clientCommand('audit', 'add up what is charged, at one revision, and compare it with the accounts')
    .addOption(outputOption(['json', 'yaml']))
    .action((options: ClientOptions & { output?: 'json' | 'yaml' }) =>
      inSession(options, async ({ client }) => {
        const audit = (await client.read(auditPath)) as Audit;
        const { revision, checked, differences, more } = audit;
        if (options.output !== undefined) print(await formatValue(audit, options.output));
        for (const { rule, keys, found, expected } of options.output === undefined ? differences : [])
          print(`${rule} ${keys.join(', ')}: ${found}; should be: ${expected}`);
        if (more > 0) say(`and ${more} more`);
        const counts = Object.entries(checked).map(([what, count]) => `${count} ${what}`);
        const verdict =
          differences.length === 0 ? 'all is as it should be' : `${differences.length + more} differences`;
        say(`revision ${revision}: looked at ${counts.join(', ')}: ${verdict}`);
        return differences.length === 0 ? exitCodes.done : exitCodes.conditionFailed;
      }),
    );

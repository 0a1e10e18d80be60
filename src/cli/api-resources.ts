import type { Command } from 'commander';
import { clientCommand } from './client-command.js';
import { apiVersionOf } from './kind-lookup.js';
import { outputOption } from './option-values.js';
import { formatValue } from './print-objects.js';
import { formatTable } from './print-table.js';
import { inSession, type ClientOptions } from './session.js';
import { print } from './terminal.js';

type Format = 'json' | 'yaml' | 'wide' | 'name';

export const apiResourcesCommand = (): Command =>
  clientCommand('api-resources', 'list the kinds that the server has')
    .addOption(outputOption())
    .action((options: ClientOptions & { output?: Format }) =>
      inSession(options, async (session) => {
        const { kinds } = await session.kinds();
        const { output } = options;
        if (output === 'json' || output === 'yaml') return print(await formatValue(kinds, output));
        if (output === 'name') return print(kinds.map(({ plural }) => plural).join('\n'));
        const isWide = output === 'wide';
        const rows = kinds.map((kind) => [
          kind.plural,
          kind.shortNames.join(','),
          apiVersionOf(kind),
          String(kind.isNamespaced),
          kind.kind,
          ...(isWide ? [kind.verbs.join(',')] : []),
        ]);
        const headings = ['NAME', 'SHORTNAMES', 'APIVERSION', 'NAMESPACED', 'KIND'];
        return print(formatTable([...headings, ...(isWide ? ['VERBS'] : [])], rows));
      }),
    );

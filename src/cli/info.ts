import type { Command } from 'commander';
import { type BerthClient, isBerthError } from '../client/client.js';
import { pathOf } from '../client/kind-path.js';
import { clientCommand } from './client-command.js';
import { pathIn, type ServedKind } from './kind-lookup.js';
import { outputOption } from './option-values.js';
import { formatValue } from './print-objects.js';
import { formatTable } from './print-table.js';
import { inSession, type ClientOptions, type Session } from './session.js';
import { serverVersion } from './server-version.js';
import { print } from './terminal.js';

export const infoCommand = (): Command =>
  clientCommand('info', 'say which server this is, who you are to it, and how much it holds')
    .addOption(outputOption(['json', 'yaml']))
    .action((options: ClientOptions & { output?: 'json' | 'yaml' }) =>
      inSession(options, async (session) => {
        const info = await readInfo(session);
        if (options.output !== undefined) return print(await formatValue(info, options.output));
        const { objects, ...facts } = info;
        for (const [name, value] of Object.entries(facts)) print(`${`${name}:`.padEnd(12)}${value}`);
        print('');
        const rows = Object.entries(objects).map(([kind, count]) => [kind, String(count ?? 'not allowed')]);
        return print(formatTable(['KIND', 'OBJECTS'], rows));
      }),
    );

interface Info {
  readonly server: string;
  readonly config: string;
  readonly version: string;
  readonly cell: string;
  readonly user: string;
  readonly namespace: string;
  /** By plural; null where the user may not look. */
  readonly objects: Readonly<Record<string, number | null>>;
}

async function readInfo(session: Session): Promise<Info> {
  const { client, addressed, namespace } = session;
  const [version, user, lookup] = await Promise.all([serverVersion(client), whoAmI(client), session.kinds()]);
  const counts = await Promise.all(
    lookup.kinds.map(async (kind) => [kind.plural, await countOf(client, kind)] as const),
  );
  return {
    server: client.server,
    config: addressed.configPath,
    version: version.version,
    cell: version.cell,
    user,
    namespace,
    objects: Object.fromEntries(counts),
  };
}

async function whoAmI(client: BerthClient): Promise<string> {
  const review = (await client.ask('/apis/authentication.k8s.io/v1/selfsubjectreviews', {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'SelfSubjectReview',
  })) as { readonly status: { readonly userInfo: { readonly username: string } } };
  return review.status.userInfo.username;
}

/** One object is asked for; the server says how many follow. */
async function countOf(client: BerthClient, kind: ServedKind): Promise<number | null> {
  try {
    const query = new URLSearchParams({ limit: '1' });
    const page = (await client.read(pathOf(pathIn(kind, undefined)), { query })) as {
      readonly items: readonly unknown[];
      readonly metadata: { readonly remainingItemCount?: number };
    };
    return page.items.length + (page.metadata.remainingItemCount ?? 0);
  } catch (error) {
    if (isBerthError(error, 'Forbidden')) return null;
    throw error;
  }
}

import { Command } from 'commander';
import { type BerthObject, isBerthError } from '../client/client.js';
import { pathOf } from '../client/kind-path.js';
import { formatDuration } from '../model/duration.js';
import { clientCommand } from './client-command.js';
import { usageFailure } from './command-failure.js';
import { exitCodes } from './exit-codes.js';
import { choiceOption, durationOf, outputOption } from './option-values.js';
import { formatValue } from './print-objects.js';
import { formatTable } from './print-table.js';
import { type ClientOptions, inSession } from './session.js';
import { print, say } from './terminal.js';

interface Token extends BerthObject {
  readonly spec: { readonly identity: string; readonly description?: string };
  readonly status: { readonly expiresAt: string; readonly createdBy: string; readonly token?: string };
}

interface CreateFlags extends ClientOptions {
  readonly tenant?: string;
  readonly role?: string;
  readonly identity?: string;
  readonly ttl?: number;
  readonly description?: string;
  readonly output?: 'json' | 'yaml';
}
interface ListFlags extends ClientOptions {
  readonly tenant?: string;
  readonly output?: 'json' | 'yaml' | 'name';
}

const tokens = { group: 'authentication.berth.dev', version: 'v1', plural: 'tokens' };
const roles = ['viewer', 'editor', 'owner'];

export const tokenCommand = (): Command =>
  new Command('token')
    .description('make, list and revoke bearer tokens')
    .addCommand(createCommand())
    .addCommand(listCommand())
    .addCommand(revokeCommand());

const createCommand = (): Command =>
  clientCommand('create', 'make a token and print its secret, this once')
    .option('--tenant <name>', 'a token for a tenant, with --role')
    .addOption(choiceOption('--role <role>', 'what it may do in the tenant (viewer)', roles))
    .option(
      '--identity <identity>',
      'another identity: admin, viewer, node:NAME, hollow:PREFIX, controller:NAME',
    )
    .option('--ttl <duration>', 'how long it lives (24h)', durationOf)
    .option('--description <text>', 'what it is for')
    .addOption(outputOption(['json', 'yaml']))
    .action((flags: CreateFlags) =>
      inSession(flags, async ({ client }) => {
        const { description, ttl } = flags;
        const spec = {
          identity: identityOf(flags),
          ...(ttl === undefined ? {} : { ttl: formatDuration(ttl) }),
          ...(description === undefined ? {} : { description }),
        };
        const token = await client.create<Token>(tokens, { spec });
        if (flags.output !== undefined) return print(await formatValue(token, flags.output));
        const { metadata, spec: made, status } = token;
        say(`token ${metadata.name} for ${made.identity}, until ${status.expiresAt}`);
        return print(status.token ?? '');
      }),
    );

function identityOf({ tenant, role, identity }: CreateFlags): string {
  if (tenant !== undefined && identity === undefined) return `tenant:${tenant}:${role ?? 'viewer'}`;
  if (identity !== undefined && tenant === undefined && role === undefined) return identity;
  throw usageFailure(
    'say for whom the token is: --tenant NAME [--role viewer|editor|owner], or --identity admin|viewer|node:NAME|hollow:PREFIX|controller:NAME',
  );
}

const listCommand = (): Command =>
  clientCommand('list', 'show the tokens that still open something')
    .option('--tenant <name>', 'only those of a tenant')
    .addOption(outputOption(['json', 'yaml', 'name']))
    .action((flags: ListFlags) =>
      inSession(flags, async ({ client }) => {
        const list = (await client.read(pathOf(tokens))) as { readonly items: readonly Token[] };
        const items = list.items.filter(
          ({ spec }) => flags.tenant === undefined || spec.identity.startsWith(`tenant:${flags.tenant}:`),
        );
        if (flags.output === 'json' || flags.output === 'yaml')
          return print(await formatValue({ ...list, items }, flags.output));
        if (items.length === 0) return say('no tokens');
        if (flags.output === 'name')
          return print(items.map(({ metadata }) => `token/${metadata.name}`).join('\n'));
        const rows = items.map(({ metadata, spec, status }) => [
          metadata.name,
          spec.identity,
          status.expiresAt,
          status.createdBy,
          spec.description ?? '',
        ]);
        return print(formatTable(['ID', 'IDENTITY', 'EXPIRES', 'CREATED BY', 'DESCRIPTION'], rows));
      }),
    );

const revokeCommand = (): Command =>
  clientCommand('revoke', 'end tokens: the next request with one of them is refused')
    .argument('<ids...>', 'the ids that list shows')
    .action((ids: readonly string[], flags: ClientOptions) =>
      inSession(flags, async ({ client }) => {
        let code: 0 | 1 = exitCodes.done;
        for (const id of ids.map((each) => each.replace(/^token\//, ''))) {
          try {
            await client.delete(tokens, id);
            print(`token/${id} revoked`);
          } catch (error) {
            if (!isBerthError(error, 'NotFound')) throw error;
            say(`error: ${error.message}`);
            code = exitCodes.error;
          }
        }
        return code;
      }),
    );

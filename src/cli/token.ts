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

interface Grant {
  readonly node?: string;
  readonly prefix?: string;
  readonly region?: string;
  readonly zone?: string;
}

interface Token extends BerthObject {
  readonly spec: { readonly identity: string; readonly description?: string; readonly join?: Grant };
  readonly status: {
    readonly expiresAt: string;
    readonly createdBy: string;
    readonly token?: string;
    readonly usedBy?: string;
  };
}

interface CreateFlags extends ClientOptions, Grant {
  readonly join?: true;
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
    .option('--join', 'a token by which one machine becomes a node, once: see berth agent')
    .option('--node <name>', 'with --join: the node it becomes, also one that was there before')
    .option('--prefix <prefix>', 'with --join: how the name of the node begins')
    .option('--region <region>', 'with --join: where the node is (local)')
    .option('--zone <zone>', 'with --join: where in the region it is (local)')
    .option('--ttl <duration>', 'how long it lives (24h; 1h with --join)', durationOf)
    .option('--description <text>', 'what it is for')
    .addOption(outputOption(['json', 'yaml']))
    .action((flags: CreateFlags) =>
      inSession(flags, async ({ client }) => {
        const { description, ttl } = flags;
        const spec = {
          ...opensOf(flags),
          ...(ttl === undefined ? {} : { ttl: formatDuration(ttl) }),
          ...(description === undefined ? {} : { description }),
        };
        const token = await client.create<Token>(tokens, { spec });
        if (flags.output !== undefined) return print(await formatValue(token, flags.output));
        const { metadata, spec: made, status } = token;
        const whom = made.join === undefined ? made.identity : grantText(made.join);
        say(`token ${metadata.name} for ${whom}, until ${status.expiresAt}`);
        return print(status.token ?? '');
      }),
    );

function opensOf(flags: CreateFlags): object {
  const { join, node, prefix, region, zone } = flags;
  const grant = Object.fromEntries(
    Object.entries({ node, prefix, region, zone }).filter(([, value]) => value !== undefined),
  );
  if (join === undefined) {
    const [unfit] = Object.keys(grant);
    if (unfit !== undefined) throw usageFailure(`--${unfit} is for --join`);
    return { identity: identityOf(flags) };
  }
  if (flags.tenant !== undefined || flags.role !== undefined || flags.identity !== undefined)
    throw usageFailure('a join token is for a machine: give --join without --tenant, --role and --identity');
  return { join: grant, ttl: '1h' };
}

const grantText = ({ node, prefix, region = '', zone = '' }: Grant): string =>
  `one node ${node ?? (prefix === undefined ? 'of any name' : `${prefix}…`)} in ${region}/${zone}`;

const holderText = ({ identity, join }: Token['spec'], { usedBy }: Token['status']): string =>
  usedBy !== undefined ? `used by node ${usedBy}` : join === undefined ? identity : grantText(join);

function identityOf({ tenant, role, identity }: CreateFlags): string {
  if (tenant !== undefined && identity === undefined) return `tenant:${tenant}:${role ?? 'viewer'}`;
  if (identity !== undefined && tenant === undefined && role === undefined) return identity;
  throw usageFailure(
    'say for whom the token is: --tenant NAME [--role viewer|editor|owner], --join, or --identity admin|viewer|node:NAME|hollow:PREFIX|controller:NAME',
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
          holderText(spec, status),
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

import { Argument, Command } from 'commander';
import { clientCommand } from './client-command.js';
import { usageFailure } from './command-failure.js';
import { type ExitCode, exitCodes } from './exit-codes.js';
import { oneOf, outputOption } from './option-values.js';
import { formatValue } from './print-objects.js';
import { formatTable } from './print-table.js';
import { type ClientOptions, inSession, type Session } from './session.js';
import { print, say } from './terminal.js';

interface Review<S> {
  readonly status: S;
}
interface Rule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
}
interface CanIFlags extends ClientOptions {
  readonly list?: boolean;
  readonly subresource?: string;
  readonly output?: 'json' | 'yaml';
}

const reviews = '/apis/authorization.k8s.io/v1';
const verbs = [
  ...['get', 'list', 'watch', 'create', 'update', 'patch', 'apply', 'delete', 'deletecollection', '*'],
];

export const authCommand = (): Command =>
  new Command('auth')
    .description('ask who you are to the server, and what you may do')
    .addCommand(canICommand())
    .addCommand(whoAmICommand());

const canICommand = (): Command =>
  clientCommand('can-i', 'ask whether you may: yes ends with 0, no with 4 and the reason')
    .addArgument(new Argument('[verb]', verbs.join(', ')).argParser(oneOf(verbs)))
    .argument('[what]', 'KIND, KIND/NAME, or a path such as /metrics')
    .option('--subresource <name>', 'status or scale of it')
    .option('--list', 'show all that you may do in the namespace')
    .addOption(outputOption(['json', 'yaml']))
    .action((verb: string | undefined, what: string | undefined, flags: CanIFlags) =>
      inSession(flags, (session) => {
        if (flags.list === true) {
          if (verb !== undefined) throw usageFailure(`--list shows everything: leave out ${verb}`);
          return listRules(session, flags);
        }
        if (verb === undefined || what === undefined)
          throw usageFailure('say what: berth auth can-i VERB KIND[/NAME], or berth auth can-i --list');
        return canI(session, verb, what, flags);
      }),
    );

async function canI(session: Session, verb: string, what: string, flags: CanIFlags): Promise<ExitCode> {
  const spec = what.startsWith('/')
    ? { nonResourceAttributes: { path: what, verb } }
    : { resourceAttributes: { verb, ...(await resourceOf(session, what, flags)) } };
  const review = (await session.client.ask(`${reviews}/selfsubjectaccessreviews`, {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec,
  })) as Review<{ readonly allowed: boolean; readonly reason?: string }>;
  const { allowed, reason } = review.status;
  if (flags.output === undefined) {
    print(allowed ? 'yes' : 'no');
    if (reason !== undefined) say(reason);
  } else print(await formatValue(review, flags.output));
  return allowed ? exitCodes.done : exitCodes.conditionFailed;
}

async function resourceOf(session: Session, what: string, { subresource }: CanIFlags): Promise<object> {
  const [word = '', name] = what.split('/');
  // Tokens are no kind, and discovery does not tell of them.
  if (/^tokens?$/.test(word)) return { group: 'authentication.berth.dev', resource: 'tokens' };
  const kind = (await session.kinds()).find(word);
  return {
    group: kind.group,
    resource: kind.plural,
    ...(kind.isNamespaced ? { namespace: session.namespace } : {}),
    ...(name === undefined ? {} : { name }),
    ...(subresource === undefined ? {} : { subresource }),
  };
}

async function listRules({ client, namespace }: Session, { output }: CanIFlags): Promise<void> {
  const review = (await client.ask(`${reviews}/selfsubjectrulesreviews`, {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectRulesReview',
    spec: { namespace },
  })) as Review<{
    readonly resourceRules: readonly Rule[];
    readonly nonResourceRules: readonly { verbs: readonly string[]; nonResourceURLs: readonly string[] }[];
  }>;
  if (output !== undefined) return print(await formatValue(review, output));
  const rows = [
    ...review.status.resourceRules.map(({ resources, resourceNames = [], verbs: may }) => [
      resources.join(', '),
      resourceNames.join(', '),
      may.join(' '),
    ]),
    ...review.status.nonResourceRules.flatMap(({ nonResourceURLs, verbs: may }) =>
      nonResourceURLs.map((path) => [path, '', may.join(' ')]),
    ),
  ];
  return print(formatTable(['WHAT', 'ONLY', 'VERBS'], rows));
}

const whoAmICommand = (): Command =>
  clientCommand('whoami', 'say who you are to the server')
    .addOption(outputOption(['json', 'yaml']))
    .action((flags: ClientOptions & { readonly output?: 'json' | 'yaml' }) =>
      inSession(flags, async ({ client }) => {
        const review = (await client.ask('/apis/authentication.k8s.io/v1/selfsubjectreviews', {
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'SelfSubjectReview',
        })) as Review<{ readonly userInfo: { readonly username: string } }>;
        print(
          flags.output === undefined
            ? review.status.userInfo.username
            : await formatValue(review, flags.output),
        );
      }),
    );

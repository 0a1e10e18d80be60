import {
  type AccessRequest,
  authorize,
  changeVerbs,
  existenceVerbs,
  type KindRights,
  leaseNameOf,
  type ObjectRequest,
  type Part,
  readVerbs,
  type Verb,
  verbs,
} from '../src/serve/identity/authorize.js';
import { authorityPath, joinPath, nodeStreamPath, renewPath } from '../src/model/node-wire.js';
import { attachPath, peerSessionPath } from '../src/model/sessions.js';
import { formatIdentity, type Identity, parseIdentity } from '../src/serve/identity/identity.js';

const identities: readonly Identity[] = [
  'admin',
  'viewer',
  'tenant:mine:viewer',
  'tenant:mine:editor',
  'tenant:mine:owner',
  'node:mine',
  'hollow:mi',
  'join:00000000000000aa',
  'controller:workload-controller',
  'controller:scheduler',
  'controller:endpoints-controller',
  'controller:commit',
  'controller:other',
  'anonymous',
].map(parseIdentity);

type Whose = 'own' | 'other' | 'all';

/** An object that is the identity's own (its tenant's, its node, its lease), or somebody else's. */
function target(
  identity: Identity,
  kind: KindRights,
  whose: Whose,
): Pick<ObjectRequest, 'namespace' | 'name'> {
  if (whose === 'all') return {};
  const own = kind.kind === 'Lease' ? (leaseNameOf(identity) ?? 'mine') : 'mine';
  if (kind.scope === 'Tenant') return { namespace: whose === 'own' ? 'mine' : 'theirs', name: 'x' };
  return { name: whose === 'own' ? own : 'theirs' };
}

const may = (identity: Identity, request: AccessRequest): boolean => authorize(identity, request).allowed;

function verbsAllowed(
  identity: Identity,
  kind: KindRights,
  whose: Whose,
  part: Part,
  among: readonly Verb[],
  subresource?: string,
): readonly Verb[] {
  const at = target(identity, kind, whose);
  return among.filter((verb) =>
    may(identity, { verb, kind, part, ...at, ...(subresource === undefined ? {} : { subresource }) }),
  );
}

/** A word for all verbs of a group, the verbs themselves for some of them. */
const inWords = (word: string, group: readonly Verb[], those: readonly Verb[]): readonly string[] =>
  those.length === group.length ? [word] : those;

function cell(identity: Identity, kind: KindRights, whose: Whose): string {
  const words = [
    ...inWords('read', readVerbs, verbsAllowed(identity, kind, whose, 'spec', readVerbs)),
    ...inWords('exist', existenceVerbs, verbsAllowed(identity, kind, whose, 'spec', existenceVerbs)),
    ...(['spec', 'metadata', 'status'] as const).flatMap((part) => {
      const those = verbsAllowed(identity, kind, whose, part, changeVerbs);
      return those.length === changeVerbs.length ? [part] : those.map((verb) => `${verb} ${part}`);
    }),
  ];
  return words.length === 0 ? '·' : words.join(', ');
}

function table(kinds: readonly KindRights[], whose: Whose): string {
  const rows = kinds.map((kind) => [kind.kind, ...identities.map((identity) => cell(identity, kind, whose))]);
  return markdown(['kind', ...identities.map(formatIdentity)], rows);
}

function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

const paths = [
  '/livez',
  '/readyz',
  '/version',
  '/api',
  '/apis/berth.dev/v1',
  '/openapi/v3/apis/berth.dev/v1',
  '/metrics',
  '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
  '/discovery/prometheus',
  '/attention',
  '/usage',
  '/apis/authority.berth.dev/v1/audit',
  '/apis/authority.berth.dev/v1/fence',
  '/apis/authority.berth.dev/v1/attestations/mine',
  '/apis/authority.berth.dev/v1/operations/bind',
  nodeStreamPath,
  joinPath,
  renewPath,
  authorityPath,
  `${attachPath}ID`,
  `${peerSessionPath}NODE`,
  '/anything/else',
];

const tokensOf = [
  'everyone',
  ...['admin', 'node:mine', 'controller:other', 'tenant:mine:owner', 'tenant:theirs:viewer'].map(
    parseIdentity,
  ),
] as const;

function otherTable(targets: readonly { readonly name: string; readonly request: object }[]): string {
  const rows = targets.map(({ name, request }) => [
    name,
    ...identities.map(
      (identity) =>
        verbs.filter((verb) => may(identity, { verb, ...request } as AccessRequest)).join(', ') || '·',
    ),
  ]);
  return markdown(['what', ...identities.map(formatIdentity)], rows);
}

const replicaRights = (kinds: readonly KindRights[]): KindRights | undefined =>
  kinds.find(({ kind }) => kind === 'Replica');

/** docs/rights.md: what authorize answers to every identity, verb, kind and part, in tables. */
export function rightsPage(kinds: readonly KindRights[]): string {
  return `# Who may do what

This page is generated from \`authorize\` (src/serve/identity/authorize.ts), which is all there is to it: what no cell
allows is denied. \`npm test -- authorize -u\` writes it anew.

A cell names what is allowed: \`read\` is ${readVerbs.join(', ')}; \`exist\` is ${existenceVerbs.join(', ')}; \`spec\`,
\`metadata\` and \`status\` are ${changeVerbs.join(', ')} of that part (\`scale\` changes the spec). \`·\` is nothing.

There is no impersonation: nobody, not even admin, acts as somebody else. A client certificate cannot be revoked, so
its lifetime is what bounds it, and of a node also that no other machine joins under its name; a token can.

## One's own objects

Objects in the tenant \`mine\`; cluster objects that are named \`mine\`; the lease an identity holds (of a node:
\`node-NAME\`, of a controller: its name, of commit: \`authority\`).

${table(kinds, 'own')}

## Objects of others

Objects in another tenant; cluster objects with another name.

${table(kinds, 'other')}

## All objects of a kind at once

No tenant and no name given.

${table(kinds, 'all')}

## Logs and commands

Subresources of replicas: \`log\` is read; \`exec\` (also what \`berth cp\` does) is created, and stands in the audit log.

${otherTable(
  (['log', 'exec'] as const).flatMap((subresource) =>
    (['mine', 'theirs'] as const).map((namespace) => ({
      name: `${subresource}, tenant ${namespace}`,
      request: { kind: replicaRights(kinds), namespace, name: 'x', subresource, part: 'spec' },
    })),
  ),
)}

## Paths

${otherTable(paths.map((path) => ({ name: `\`${path}\``, request: { path } })))}

## Nodes

To act for a node on a node stream: \`update\`.

${otherTable(['mine', 'theirs'].map((node) => ({ name: node, request: { actsForNode: node } })))}

## Tokens

Whose: the identity a token gives.

${otherTable(
  tokensOf.map((of) => ({ name: of === 'everyone' ? of : formatIdentity(of), request: { tokensOf: of } })),
)}
`;
}

import { type BerthObject, isBerthError } from '../client/client.js';
import { CommandFailure, usageFailure } from './command-failure.js';
import { exitCodes } from './exit-codes.js';
import type { Session } from './session.js';

type ReplicaRow = BerthObject & { readonly status?: { readonly stage?: string; readonly binding?: object } };

const kindAt = (plural: string, namespace: string) => ({
  group: 'berth.dev',
  version: 'v1',
  plural,
  namespace,
});
const ofReplica = ['replica', 'replicas', 'rep'];
const ofWorkload = ['workload', 'workloads', 'wl'];

export const targetHelp = 'replica/NAME or workload/NAME; NAME alone is a replica, or else a workload';

export const replicaPath = (session: Session, name: string, subresource: string): string =>
  `/apis/berth.dev/v1/namespaces/${encodeURIComponent(session.namespace)}/replicas/${encodeURIComponent(name)}/${subresource}`;

/** The replicas that are meant: the one of that name, or all of a workload that have come to a node. */
export async function replicasOf(
  session: Session,
  word: string,
): Promise<{ readonly names: readonly string[]; readonly isWorkload: boolean }> {
  const [kind = '', name = ''] = word.includes('/') ? word.split('/', 2) : ['', word];
  if (name === '' || (kind !== '' && ![...ofReplica, ...ofWorkload].includes(kind.toLowerCase())))
    throw usageFailure(`${JSON.stringify(word)} is neither replica/NAME nor workload/NAME`);
  const isOneReplica =
    ofReplica.includes(kind.toLowerCase()) || (kind === '' && (await isReplica(session, name)));
  if (isOneReplica) return { names: [name], isWorkload: false };
  await session.client.get(kindAt('workloads', session.namespace), name);
  const rows = await bound(session, name);
  if (rows.length === 0)
    throw new CommandFailure(
      exitCodes.error,
      `no replica of workload ${name} has come to a node; berth why ${name} says what it waits for`,
    );
  return { names: rows.map(({ metadata }) => metadata.name), isWorkload: true };
}

/** One replica: of a workload, the first that is ready. */
export async function oneReplicaOf(session: Session, word: string): Promise<string> {
  const { names, isWorkload } = await replicasOf(session, word);
  const [first = ''] = names;
  if (!isWorkload) return first;
  const rows = await bound(session, word.slice(word.indexOf('/') + 1));
  const ready = rows.find(({ status }) => status?.stage === 'Ready' || status?.stage === 'Serving');
  return ready?.metadata.name ?? first;
}

async function isReplica(session: Session, name: string): Promise<boolean> {
  try {
    await session.client.get(kindAt('replicas', session.namespace), name);
    return true;
  } catch (error) {
    if (isBerthError(error, 'NotFound')) return false;
    throw error;
  }
}

async function bound(session: Session, workload: string): Promise<readonly ReplicaRow[]> {
  const { items } = await session.client.list<ReplicaRow>(kindAt('replicas', session.namespace), {
    fieldSelector: `spec.workload=${workload}`,
  });
  return items.filter(({ status }) => status?.binding !== undefined);
}

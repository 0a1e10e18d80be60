import { addAmounts, type Amount, amountsOf, eachResource, firstOver } from './amount.js';
import type { LeaseRecord, NodeAccount, TenantAccount } from './records.js';

/**
 * Records of the authority that people see as objects: leases and ledgers. They are rendered from the record and
 * cannot be written as objects; their resourceVersion is that of the record.
 */
interface RecordView {
  readonly kind: string;
  /** The record of NAME stands under this and the name. */
  readonly prefix: string;
  /** What the object has beside apiVersion, kind and metadata, and since when it is there, if known. */
  readonly render: (record: never) => { readonly fields: object; readonly since?: string };
}

const withoutReplicas = (amount: Amount): object => {
  const { replicas: _, ...rest } = amount;
  return amountsOf(rest);
};

const isOvercommitted = ({ used, allocatable }: NodeAccount): boolean => {
  const { replicas: _, ...counted } = used;
  return (
    [...eachResource(counted)].some(([, count]) => count > 0) &&
    firstOver({}, counted, allocatable, 'isNone') !== undefined
  );
};

export const recordViews: readonly RecordView[] = [
  {
    kind: 'Lease',
    prefix: '/l/',
    render: ({ holder, epoch, durationSeconds, address, acquiredAt, renewedAt, lastTerm }: LeaseRecord) => ({
      since: acquiredAt,
      fields: {
        spec: {
          holder,
          epoch,
          durationSeconds,
          ...(address !== undefined && { address }),
          acquiredAt,
          renewedAt,
          ...(lastTerm !== undefined && { lastTerm }),
        },
      },
    }),
  },
  {
    kind: 'NodeLedger',
    prefix: '/a/node/',
    render: (account: NodeAccount) => ({
      since: account.gate.since,
      fields: {
        status: {
          gate: {
            state: account.gate.state,
            ...(account.gate.reason !== undefined && { reason: account.gate.reason }),
          },
          allocatable: withoutReplicas(account.allocatable),
          used: withoutReplicas(account.used),
          overcommitted: isOvercommitted(account) ? 'Overcommitted' : 'No',
          claims: account.claims,
          antiAffinity: account.revisions,
        },
      },
    }),
  },
  {
    kind: 'TenantLedger',
    prefix: '/a/tenant/',
    render: ({ grant, used, borrowed, lost }: TenantAccount) => ({
      fields: {
        status: {
          ...(grant !== undefined && { grant: { epoch: grant.epoch, amounts: amountsOf(grant.most) } }),
          used: amountsOf(addAmounts({}, used)),
          borrowed: withoutReplicas(borrowed),
          lost: amountsOf(lost),
        },
      },
    }),
  },
];

export const isRecordView = (kind: string): boolean => recordViews.some((view) => view.kind === kind);

/** Which object a record is seen as; undefined if it is not seen as one. */
export function viewOfKey(
  storedKey: string,
): { readonly view: RecordView; readonly name: string } | undefined {
  for (const view of recordViews)
    if (storedKey.startsWith(view.prefix)) return { view, name: storedKey.slice(view.prefix.length) };
  return undefined;
}

/** A uid that stays the same for the life of the name: the records have none of their own. */
const uidOf = (storedKey: string): string => `view${storedKey.replaceAll('/', '.')}`;

/** The object that a record is seen as, without its resourceVersion. */
export function renderRecord(storedKey: string, record: unknown): object | undefined {
  const found = viewOfKey(storedKey);
  if (found === undefined) return undefined;
  const { fields, since } = found.view.render(record as never);
  return {
    apiVersion: 'berth.dev/v1',
    kind: found.view.kind,
    metadata: {
      name: found.name,
      uid: uidOf(storedKey),
      generation: 1,
      ...(since !== undefined && { creationTimestamp: since }),
    },
    ...fields,
  };
}

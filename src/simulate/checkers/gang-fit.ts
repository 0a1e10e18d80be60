import { addAmounts, type Amount, amountOf, firstOver } from '../../model/amount.js';
import type { Gang } from '../../model/kinds/gang.js';
import type { Node } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { WorkloadRevisionSpec } from '../../model/kinds/workload-revision.js';
import type { NodeAccount } from '../../model/records.js';
import type { CellView } from './cell-view.js';
import { hasRoom, type Waiting } from './node-fit.js';

/** Whether enough members of a gang could be placed, or hold: by the records alone. */
export class GangFit {
  constructor(
    private readonly cell: CellView,
    private readonly nodes: readonly Node[],
    /** By every rule but room. */
    private readonly isAllowed: (node: Node, waiting: Waiting) => boolean,
  ) {}

  /**
   * A node for the last of as many members as must start together, each on the first that takes it beside those before it.
   * Not judged: a gang that has tried before, which backs off; one beside another that reserves; one whose members have
   * rules about neighbours.
   */
  lastPlace(tenant: string, { metadata, spec, status }: Gang): string | undefined {
    const others = [...this.cell.objects('Gang')];
    if (others.some((gang) => gang.status?.state === 'Reserving')) return undefined;
    if ((status?.state ?? 'Waiting') !== 'Waiting' || (status?.attempts ?? 0) > 0) return undefined;
    const members = [...this.cell.objects('Replica', tenant)]
      .filter((replica) => replica.spec.gang === metadata.name && replica.status?.stage === 'Queued')
      .slice(0, spec.minAvailable)
      .flatMap((replica) => this.#waiting(tenant, replica));
    if (members.length < spec.minAvailable || !this.#areGranted(tenant, members)) return undefined;
    const accounts = new Map(
      this.nodes.map(({ metadata: { name } }) => [name, this.cell.nodeAccount(name)] as const),
    );
    let last: string | undefined;
    for (const member of members) {
      const found = this.nodes.find(
        (node) => this.isAllowed(node, member) && hasRoom(accounts.get(node.metadata.name), member.revision),
      );
      last = found?.metadata.name;
      const account = last === undefined ? undefined : accounts.get(last);
      if (last === undefined || account === undefined) return undefined;
      accounts.set(last, accountWith(account, member));
    }
    return last;
  }

  /** Whether as many hold all that they await as must start together. */
  holdEnough(tenant: string, { metadata, spec, status }: Gang): boolean {
    const ready = [...this.cell.objects('Replica', tenant)].filter((replica) => {
      const hold = this.cell.object('Reservation', tenant, replica.status?.hold ?? '')?.status;
      return (
        replica.spec.gang === metadata.name &&
        replica.status?.stage === 'Scheduled' &&
        hold?.state === 'Held' &&
        (hold.awaits ?? []).length === 0
      );
    });
    return status?.state === 'Reserving' && ready.length >= spec.minAvailable;
  }

  #waiting(tenant: string, replica: Replica): readonly Waiting[] {
    const revision = this.cell.object('WorkloadRevision', tenant, replica.spec.revision)?.spec;
    return revision === undefined || hasNeighbourRules(revision) ? [] : [{ replica, tenant, revision }];
  }

  #areGranted(tenant: string, members: readonly Waiting[]): boolean {
    const account = this.cell.tenantAccount(tenant);
    const more = members.reduce(
      (sum: Amount, { revision }) => addAmounts(sum, addAmounts(asked(revision), { replicas: 1 })),
      {},
    );
    return (
      account?.grant !== undefined &&
      firstOver(account.used, more, account.grant.most, 'isUnlimited') === undefined
    );
  }
}

function asked({ template }: WorkloadRevisionSpec): Amount {
  const { ports: _, ...amounts } = template.resources ?? {};
  return amountOf(amounts);
}

const hasNeighbourRules = ({ placement }: WorkloadRevisionSpec): boolean =>
  [placement?.affinity, placement?.antiAffinity, placement?.spread].some((rules) => (rules ?? []).length > 0);

/** The account of a node as it would be with one more replica there. */
function accountWith(account: NodeAccount, { replica, revision }: Waiting): NodeAccount {
  const { ports = [], devices: counts = {} } = revision.template.resources ?? {};
  const { uid } = replica.metadata;
  const devices = { ...account.claims.devices };
  for (const [name, count] of Object.entries(counts)) {
    const free = (account.devices[name] ?? []).filter((id) => devices[id] === undefined);
    for (const id of free.slice(0, count)) devices[id] = uid;
  }
  const numbers = ports.flatMap((port) => port.split(':')[1] ?? []);
  return {
    ...account,
    used: addAmounts(account.used, asked(revision)),
    claims: {
      devices,
      ports: { ...account.claims.ports, ...Object.fromEntries(numbers.map((port) => [port, uid])) },
    },
  };
}

import { labelSelectorOf, matchesLabels } from '../../model/label-selector.js';
import type { Placement } from '../../model/parts/placement.js';
import type { CellView } from './cell-view.js';
import type { ChargeBook } from './charge-book.js';
import type { LiveCharge } from './charges.js';
import { isResident, type Placed, regionOf, zoneOf } from './node-rules.js';

type Topology = 'Node' | 'Zone' | 'Region';
type AntiAffinity = NonNullable<Placement['antiAffinity']>[number];

/** What a rule about neighbours knows of a replica: whose it is, its labels and its rules. */
interface Neighbour {
  readonly tenant: string;
  readonly workload: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly rules: readonly AntiAffinity[];
}

function neighbourOf(cell: CellView, tenant: string, workload: string, revision: string): Neighbour {
  const spec = cell.object('WorkloadRevision', tenant, revision)?.spec;
  const rules = (spec?.placement?.antiAffinity ?? []).filter(({ mode = 'Required' }) => mode === 'Required');
  return { tenant, workload, labels: { ...spec?.template.labels, 'berth.dev/workload': workload }, rules };
}

/** Whether `one` must be kept from `other` within a topology. A selector finds replicas of its own tenant. */
const repels = (one: Neighbour, other: Neighbour, topology: Topology): boolean =>
  one.tenant === other.tenant &&
  one.rules.some(
    (rule) =>
      rule.topology === topology &&
      (rule.selector === undefined
        ? one.workload === other.workload
        : matchesLabels(labelSelectorOf(rule.selector), other.labels)),
  );

/**
 * The hard rules of placement that concern neighbours. On a node everything counts that is there, with its own
 * rules too; in a zone or region only the workload's own replicas do. `isSelf` names the charge that is being judged and those that are
 * about to make room for it.
 */
export function brokenNeighbourRules(
  cell: CellView,
  book: ChargeBook,
  placed: Placed,
  isSelf: (live: LiveCharge) => boolean,
): readonly string[] {
  const node = cell.object('Node', undefined, placed.node);
  const spec = cell.object('WorkloadRevision', placed.tenant, placed.revision)?.spec;
  if (node === undefined || spec === undefined) return [];
  const region = regionOf(node);
  const zone = zoneOf(node);
  const self = neighbourOf(cell, placed.tenant, placed.workload, placed.revision);
  const own = [...book.chargesOfWorkload(placed.tenant, placed.workload)].filter((live) => !isSelf(live));
  const together: readonly (readonly [Topology, readonly LiveCharge[]])[] = [
    ['Node', [...book.chargesOnNode(placed.node)].filter((live) => !isSelf(live))],
    ['Zone', own.filter(({ charge }) => charge.region === region && charge.zone === zone)],
    ['Region', own.filter(({ charge }) => charge.region === region)],
  ];
  const apart = together.flatMap(([topology, charges]) =>
    charges
      .filter(({ charge: { tenant, workload = '', revision = '' } }) => {
        const other = neighbourOf(cell, tenant, workload, revision);
        return repels(self, other, topology) || (topology === 'Node' && repels(other, self, topology));
      })
      .map(({ key }) => `it must be kept from ${key} by ${topology}`),
  );
  const skewed = (spec.placement?.spread ?? [])
    .filter(({ mode = 'Required' }) => mode === 'Required')
    .flatMap(({ topology, maxSkew = 1 }) => {
      const at = domain(topology, placed.node, region, zone);
      const counts = new Map(
        domainsOf(cell, placed, spec.placement ?? {}, topology, region).map((name) => [name, 0]),
      );
      for (const { charge } of own) {
        const name = domain(topology, charge.node, charge.region ?? '', charge.zone ?? '');
        counts.set(name, (counts.get(name) ?? 0) + 1);
      }
      counts.set(at, (counts.get(at) ?? 0) + 1);
      // A node that has none is always to be had sooner or later, so nodes are compared with none.
      const least = topology === 'Node' ? 0 : Math.min(...counts.values());
      const here = counts.get(at) ?? 0;
      return here - least <= maxSkew
        ? []
        : [`${topology} ${at} would have ${here} of the workload, another ${least}; maxSkew is ${maxSkew}`];
    });
  return [...apart, ...skewed];
}

function domain(topology: Topology, node: string, region: string, zone: string): string {
  return topology === 'Node' ? node : topology === 'Zone' ? `${region}/${zone}` : region;
}

/**
 * The zones or regions that the workload may be in, whether anything is there or not. Who names no regions is not
 * asked to use others than the one at hand.
 */
function domainsOf(
  cell: CellView,
  { tenant }: Placed,
  { regions = [], zones = [] }: Placement,
  topology: Topology,
  region: string,
): readonly string[] {
  if (topology === 'Node') return [];
  const allowed = regions.filter((name) => isResident(cell, tenant, name));
  if (topology === 'Region') return allowed;
  return (regions.length === 0 ? [region] : allowed).flatMap((name) =>
    (cell.object('Region', undefined, name)?.spec.zones ?? [])
      .filter((zone) => zones.length === 0 || zones.includes(zone))
      .map((zone) => `${name}/${zone}`),
  );
}

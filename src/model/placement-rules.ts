import { ownValue } from './amount.js';
import type { NodeSpec } from './kinds/node.js';
import type { WorkloadRevisionSpec } from './kinds/workload-revision.js';
import { labelSelectorOf, matchesLabels } from './label-selector.js';
import type { Placement } from './parts/placement.js';

/**
 * What the hard rules of a placement mean, for those who propose and for the one who commits: both must say the same
 * of the same facts. Who looks up the facts, and what follows, is theirs.
 */

type Taint = NonNullable<NodeSpec['taints']>[number];
type Toleration = NonNullable<Placement['tolerations']>[number];
export type NeighbourRule = NonNullable<Placement['antiAffinity']>[number];

/** A revision, as far as rules about neighbours speak of it. */
export interface RuledRevision {
  readonly metadata: { readonly namespace?: string };
  readonly spec: WorkloadRevisionSpec;
}

export const isRequired = (rule: { readonly mode?: 'Required' | 'Preferred' }): boolean =>
  rule.mode !== 'Preferred';

export const isTolerated = (taint: Taint, tolerations: readonly Toleration[]): boolean =>
  tolerations.some(
    ({ key, operator = 'Equal', value = '', effect }) =>
      (effect === undefined || effect === taint.effect) &&
      (key === undefined ? operator === 'Exists' : key === taint.key) &&
      (operator === 'Exists' || value === (taint.value ?? '')),
  );

/** The first taint that keeps such replicas away. */
export const repellingTaint = (
  taints: readonly Taint[] | undefined,
  tolerations: readonly Toleration[],
): Taint | undefined =>
  taints?.find((taint) => taint.effect !== 'PreferNoSchedule' && !isTolerated(taint, tolerations));

export const shownTaint = ({ key, value = '', effect }: Taint): string => `${key}=${value}:${effect}`;

/**
 * Whether a rule of one revision speaks of replicas of another. Without a selector: of its own workload. Tenants do
 * not see each other's labels, so rules never reach across them.
 */
export function speaksOf(rule: NeighbourRule, own: RuledRevision, other: RuledRevision): boolean {
  if (own.metadata.namespace !== other.metadata.namespace) return false;
  return rule.selector === undefined
    ? own.spec.workload === other.spec.workload
    : matchesLabels(labelSelectorOf(rule.selector), other.spec.template.labels);
}

/** The rules of a revision about what it must not be together with. */
export const apartRules = ({ spec }: RuledRevision): readonly NeighbourRule[] =>
  spec.placement?.antiAffinity?.filter(isRequired) ?? [];

/** Whether replicas of the two must not be on one node, by a rule of either. */
export const mustBeApartOnNode = (
  own: RuledRevision,
  other: RuledRevision,
): 'mine' | 'theirs' | undefined => {
  const says = (a: RuledRevision, b: RuledRevision): boolean =>
    apartRules(a).some((rule) => rule.topology === 'Node' && speaksOf(rule, a, b));
  if (says(own, other)) return 'mine';
  return says(other, own) ? 'theirs' : undefined;
};

/** Whether a rule about zones or regions speaks of the replicas of its own workload; across workloads these are best effort. */
export const isAboutOwnWorkload = (rule: NeighbourRule, own: RuledRevision): boolean =>
  rule.selector === undefined || matchesLabels(labelSelectorOf(rule.selector), own.spec.template.labels);

/** Where a domain of spreading lies: `region`, or `region/zone`. */
export interface Domain {
  readonly region: string;
  readonly zone: string;
}

/** The name that counts have for a zone of a region: zones of two regions may have the same one. */
export const zoneKey = ({ region, zone }: Domain): string => `${region}/${zone}`;

/** The facts about regions that rules of spreading compare. */
export interface Regions {
  /** The zones that the operator names. */
  readonly zonesOf: (region: string) => readonly string[];
  /** Whether the tenant may be there. */
  readonly isResident: (region: string) => boolean;
}

/** Where replicas are that their rules no longer allow does not keep others from being spread: nothing can be added there. */
function isDomainAllowed(
  { placement }: WorkloadRevisionSpec,
  domain: string,
  isResident: Regions['isResident'],
): boolean {
  const { regions = [], zones = [] } = placement ?? {};
  const [region = '', zone] = domain.split('/');
  return (
    isResident(region) &&
    (regions.length === 0 || regions.includes(region)) &&
    (zone === undefined || zones.length === 0 || zones.includes(zone))
  );
}

/** The zones that replicas could be in: those the operator names for the regions allowed, where the tenant may be. */
export function zonesAllowed(
  { placement }: WorkloadRevisionSpec,
  region: string,
  { zonesOf, isResident }: Regions,
): readonly string[] {
  const { regions = [], zones = [] } = placement ?? {};
  return (regions.length > 0 ? regions.filter(isResident) : [region]).flatMap((name) =>
    zonesOf(name)
      .filter((zone) => zones.length === 0 || zones.includes(zone))
      .map((zone) => `${name}/${zone}`),
  );
}

/** How many replicas a domain has, and how many the domain with the fewest that counts beside it. */
export function spreadCounts(
  spec: WorkloadRevisionSpec,
  topology: 'Zone' | 'Region',
  where: { readonly region: string; readonly zoneKey: string },
  counts: Readonly<Record<string, number>>,
  /** The keys of the zones that replicas could be in beside such a region, and where the tenant may be. */
  {
    zonesBeside,
    isResident,
  }: { readonly zonesBeside: (region: string) => readonly string[] } & Pick<Regions, 'isResident'>,
): { readonly domain: string; readonly here: number; readonly fewest: number } {
  const domain = topology === 'Zone' ? where.zoneKey : where.region;
  const domains =
    topology === 'Zone' ? zonesBeside(where.region) : (spec.placement?.regions ?? []).filter(isResident);
  const here = ownValue(counts, domain) ?? 0;
  let fewest = here;
  for (const name of domains) fewest = Math.min(fewest, ownValue(counts, name) ?? 0);
  // Without a list of entries, because it is asked about every zone after every placement.
  for (const name in counts) {
    const count = counts[name] as number;
    if (count < fewest && isDomainAllowed(spec, name, isResident)) fewest = count;
  }
  return { domain, here, fewest };
}

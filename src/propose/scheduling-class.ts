import { type Amount, amountOf } from '../model/amount.js';
import { amountCharged, amountsAsked } from '../model/asked.js';
import type { WorkloadRevisionSpec } from '../model/kinds/workload-revision.js';
import {
  isAboutOwnWorkload,
  isRequired,
  mustBeApartOnNode,
  type NeighbourRule,
  type RuledRevision,
  speaksOf,
  zonesAllowed,
} from '../model/placement-rules.js';
import type { Policy } from '../model/policy.js';
import type { CellState } from './cell-state.js';
import type { ClassKey } from './contract.js';
import type { DeviceColumn } from './node-table.js';
import { hasApartRules } from './tenant-classes.js';

/** A rule about neighbours with the classes that it speaks of. */
export interface NeighbourTerm {
  readonly topology: NeighbourRule['topology'];
  readonly isRequired: boolean;
  readonly weight: number;
  readonly keys: readonly ClassKey[];
  /** It speaks of replicas of this class too: each one placed changes what it says. */
  readonly isAboutSelf: boolean;
  /** It speaks of the own workload, whose account says how many are where. */
  readonly isAboutOwnWorkload: boolean;
}

/** All that replicas of one revision have in common, made ready for being compared with many nodes. */
export interface SchedulingClass {
  readonly key: ClassKey;
  readonly tenant: string;
  readonly spec: WorkloadRevisionSpec;
  readonly cpuMilli: number;
  readonly memoryBytes: number;
  readonly devices: readonly { readonly column: DeviceColumn; readonly count: number }[];
  readonly ports: readonly string[];
  /** What one replica of it adds to the account of its tenant. */
  readonly charged: Amount;
  readonly residency: readonly string[];
  readonly mayUsePools: boolean;
  readonly needsFence: boolean;
  readonly driver: 'process' | 'container';
  readonly isDaemon: boolean;
  readonly maxNodeAgeMs: number;
  readonly waitsWhenStale: boolean;
  /** Classes whose replicas must not be on the same node. */
  readonly apartKeys: readonly ClassKey[];
  /** Classes of the same workload. */
  readonly ownKeys: readonly ClassKey[];
  readonly affinity: readonly NeighbourTerm[];
  readonly antiAffinity: readonly NeighbourTerm[];
  readonly spread: readonly Required<SpreadRule>[];
  /** Whether placing one replica changes what other nodes of its zone or region are worth. */
  readonly hasDomainRules: boolean;
  /** Whether the tenant may be in a region. */
  readonly isResident: (region: string) => boolean;
  readonly jurisdictionOf: (region: string) => string | undefined;
  /** The keys of the zones that replicas could be in beside a region. */
  readonly zonesBeside: (region: string) => readonly string[];
  readonly latencyMs: (from: string, to: string) => number | undefined;
  /** By the number of a shape: 0 not judged yet, 1 allowed, else 2 + the number of the filter that refuses it among all filters. */
  shapeVerdicts: Uint8Array;
  /** By the number of a shape, once it is judged: the part of the score that depends on the shape alone. */
  shapeScores: Float64Array;
  /** The policy that shapes were scored by. */
  judgedBy: Policy | undefined;
}

type SpreadRule = NonNullable<NonNullable<WorkloadRevisionSpec['placement']>['spread']>[number];

/** What a class was made from. While none of it changed, it need not be made again. */
type Facts = readonly unknown[];

interface Known {
  readonly facts: Facts;
  readonly made: SchedulingClass;
}

/** Past this the one that was made first is forgotten, and made again when its turn comes. */
const knownMax = 4_096;
const known = new WeakMap<CellState, Map<ClassKey, Known>>();

/** The class of a revision as the cell stands; undefined if the revision is gone. */
export function schedulingClass(cell: CellState, key: ClassKey): SchedulingClass | undefined {
  const revision = cell.revision(key);
  if (revision === undefined) return undefined;
  const tenant = key.slice(0, key.indexOf('/'));
  const workload = cell.workload(tenant, revision.spec.workload).stored?.spec;
  const facts: Facts = [
    revision,
    cell.tenant(tenant).spec,
    workload?.onNodeLost?.action,
    workload?.type,
    cell.placesVersion,
    cell.classesOf(tenant).version,
    cell.nodes.shapesVersion,
  ];
  let classes = known.get(cell);
  if (classes === undefined) known.set(cell, (classes = new Map()));
  const before = classes.get(key);
  if (before?.facts.every((fact, at) => fact === facts[at]) === true) return before.made;
  const made = makeClass(cell, key, tenant, revision);
  classes.delete(key);
  if (classes.size >= knownMax) classes.delete(classes.keys().next().value ?? '');
  classes.set(key, { facts, made });
  return made;
}

function makeClass(cell: CellState, key: ClassKey, tenant: string, revision: RuledRevision): SchedulingClass {
  const { spec } = revision;
  const { placement = {}, template } = spec;
  const amounts = amountsAsked(template.resources);
  const amount = amountOf(amounts);
  const workload = cell.workload(tenant, spec.workload).stored?.spec;
  const zonesBeside = new Map<string, readonly string[]>();
  const classes = cell.classesOf(tenant);
  const keysWhere = (
    isMeant: (other: RuledRevision) => boolean,
    among: Iterable<ClassKey> = classes.keys,
  ): ClassKey[] => {
    const keys: ClassKey[] = [];
    for (const other of among) {
      const it = cell.revision(other);
      if (it !== undefined && isMeant(it)) keys.push(other);
    }
    return keys;
  };
  const term = (rule: NeighbourRule): NeighbourTerm => {
    const keys = keysWhere((other) => speaksOf(rule, revision, other));
    return {
      topology: rule.topology,
      isRequired: isRequired(rule),
      weight: rule.weight ?? 1,
      keys,
      isAboutSelf: keys.includes(key),
      isAboutOwnWorkload: isAboutOwnWorkload(rule, revision),
    };
  };
  const spread = (placement.spread ?? []).map(
    ({ topology, maxSkew = 1, mode = 'Required', weight = 1 }): Required<SpreadRule> => ({
      topology,
      maxSkew,
      mode,
      weight,
    }),
  );
  // On one node it is the other class's rule as well, and apartKeys has both.
  const antiAffinity = (placement.antiAffinity ?? [])
    .filter((rule) => rule.topology !== 'Node' || !isRequired(rule))
    .map(term);
  const affinity = (placement.affinity ?? []).map(term);
  const { freshness } = placement;
  const residency = cell.tenant(tenant).spec?.residency ?? [];
  const jurisdictionOf = (region: string): string | undefined => cell.regions.get(region)?.jurisdiction;
  const zonesOf = (region: string): readonly string[] => cell.regions.get(region)?.zones ?? [];
  const isResident = (region: string): boolean => {
    if (residency.length === 0) return true;
    const law = jurisdictionOf(region);
    return law !== undefined && residency.includes(law);
  };
  const isAtMostOne = template.execution === 'AtMostOne';
  return {
    key,
    tenant,
    spec,
    cpuMilli: amount.cpuMilli ?? 0,
    memoryBytes: amount.memoryBytes ?? 0,
    devices: Object.entries(amount.devices ?? {})
      .filter(([, count]) => count > 0)
      .map(([name, count]) => ({ column: cell.nodes.deviceColumn(name), count })),
    ports: template.resources?.ports ?? [],
    charged: amountCharged(amounts),
    residency,
    mayUsePools: cell.priorityClasses.get(spec.priorityClassName ?? 'default')?.recoveryPools === true,
    needsFence: isAtMostOne && workload?.onNodeLost?.action === 'Fence',
    driver: template.run.container === undefined ? 'process' : 'container',
    isDaemon: workload?.type === 'Daemon',
    maxNodeAgeMs: (freshness?.maxNodeAgeSeconds ?? 15) * 1_000,
    waitsWhenStale: (freshness?.onStale ?? (isAtMostOne ? 'Wait' : 'Bind')) === 'Wait',
    apartKeys: keysWhere(
      (other) => mustBeApartOnNode(revision, other) !== undefined,
      hasApartRules(revision) ? classes.keys : classes.withApartRules,
    ),
    ownKeys: [...classes.ofWorkload(spec.workload)],
    affinity,
    antiAffinity,
    spread,
    hasDomainRules: [...spread, ...affinity, ...antiAffinity].some(({ topology }) => topology !== 'Node'),
    isResident,
    jurisdictionOf,
    zonesBeside: (region) => {
      let zones = zonesBeside.get(region);
      if (zones === undefined) {
        zones = zonesAllowed(spec, region, { zonesOf, isResident });
        zonesBeside.set(region, zones);
      }
      return zones;
    },
    latencyMs: (from, to) => {
      const own = cell.regions.get(from)?.latencyMs ?? {};
      const back = cell.regions.get(to)?.latencyMs ?? {};
      return Object.hasOwn(own, to) ? own[to] : Object.hasOwn(back, from) ? back[from] : undefined;
    },
    shapeVerdicts: new Uint8Array(64),
    shapeScores: new Float64Array(64),
    judgedBy: undefined,
  };
}

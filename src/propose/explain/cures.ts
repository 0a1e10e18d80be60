import { type Amount, amountOf, amountsOf, countOf, eachResource, ownValue } from '../../model/amount.js';
import { amountsAsked } from '../../model/asked.js';
import type { Cure } from '../../model/explanation.js';
import type { Amounts } from '../../model/parts/amounts.js';
import { isTolerated, type NeighbourRule, shownTaint, spreadCounts } from '../../model/placement-rules.js';
import { recoveryPoolLabel, type TenantAccount } from '../../model/records.js';
import type { CellState } from '../cell-state.js';
import type { ClassKey, Verdict } from '../contract.js';
import { schedulingClass } from '../scheduling-class.js';
import { verdictsOn, verdictsOnEach, type VerdictOptions } from '../verdicts.js';
import { asIfCured } from './cure-records.js';

export interface CureOptions extends VerdictOptions {
  /** The slot is of this node alone. */
  readonly onlyNode?: string;
}

// How many of one sort are offered: those that change least.
const curesPerSort = 3;
// How many nodes are tried for each sort, those with fewest filters against them first.
const nodesTried = 50;

interface Refused {
  readonly node: string;
  readonly against: readonly Verdict[];
}

/**
 * Changes of a single object, each of which would let one replica more of the class be placed, and no smaller change of
 * its quantity would. Each is tried on the cell, which is left as it was: what is returned is true of it.
 */
export function curesFor(cell: CellState, classKey: ClassKey, options: CureOptions): Cure[] {
  return new CureFinder(cell, classKey, options).find();
}

class CureFinder {
  readonly #tenant: string;
  readonly #refused: readonly Refused[];
  readonly #fitting: readonly string[];

  constructor(
    private readonly cell: CellState,
    private readonly classKey: ClassKey,
    private readonly options: CureOptions,
  ) {
    this.#tenant = classKey.slice(0, classKey.indexOf('/'));
    const all = [...verdictsOnEach(cell, classKey, options)].filter(
      ({ node }) => options.onlyNode === undefined || node === options.onlyNode,
    );
    this.#fitting = all.filter(({ against }) => against.length === 0).map(({ node }) => node);
    this.#refused = all
      .filter(({ against }) => against.length > 0)
      .toSorted((a, b) => a.against.length - b.against.length || (a.node < b.node ? -1 : 1));
  }

  find(): Cure[] {
    const cls = schedulingClass(this.cell, this.classKey);
    if (cls === undefined) return [];
    const isQuotaOpen = verdictsOn(this.cell, this.classKey, '', this.options).at(-1)?.passes === true;
    if (isQuotaOpen && this.#fitting.length > 0) return [];
    const tenant = this.#tenantCures(isQuotaOpen);
    if (!isQuotaOpen) return tenant;
    const refused = this.#refused.slice(0, nodesTried);
    return [
      ...this.#best(refused.flatMap((one) => this.#nodeCure(one) ?? [])),
      ...this.#best(this.#capacityCures()),
      ...this.#best(refused.flatMap((one) => this.#workloadCure(one) ?? [])),
      ...this.#best(refused.flatMap((one) => this.#poolCure(one) ?? [])),
      ...tenant,
      ...this.#newNode(),
    ];
  }

  /** Those that are as good as they say, each once, the first few. */
  #best(cures: readonly Tried[]): Cure[] {
    const found: Cure[] = [];
    const seen = new Set<string>();
    for (const { cure, node } of cures) {
      const key = JSON.stringify([cure.kind, cure.name, cure.change]);
      if (seen.has(key)) continue;
      seen.add(key);
      if (this.#helps(cure, node)) found.push(cure);
      if (found.length === curesPerSort) break;
    }
    return found;
  }

  #helps(cure: Cure, node: string): boolean {
    const { cell, classKey, options } = this;
    return asIfCured(cell, classKey, cure, () => {
      const verdicts = verdictsOn(cell, classKey, node, options);
      return verdicts.length > 0 && verdicts.every(({ passes }) => passes);
    });
  }

  // ---- the tenant: its limit, its residency --------------------------------------------------------------

  #tenantCures(isQuotaOpen: boolean): Cure[] {
    const { cell } = this;
    const name = this.#tenant;
    const limit = isQuotaOpen ? undefined : this.#limit(cell.tenantAccount(name));
    if (!isQuotaOpen && limit === undefined) return [];
    const raised = limit === undefined ? [] : [`raise the limit of tenant ${name} to ${shownAmounts(limit)}`];
    const [fitting] = this.#fitting;
    if (fitting !== undefined) {
      const patch = { spec: { limit } };
      return this.#best([tried(fitting, 'Tenant', name, raised.join(' '), patch)]);
    }
    const { residency = [] } = cell.tenant(name).spec ?? {};
    return this.#best(
      this.#refused
        .filter(({ against }) => isAll(against, ['residency']))
        .flatMap(({ node }) => {
          const jurisdiction = this.#jurisdictionOf(node);
          if (jurisdiction === undefined) return [];
          const words = [...raised, `allow tenant ${name} to be in ${jurisdiction}`].join(' and ');
          const patch = {
            spec: { ...(limit !== undefined && { limit }), residency: [...residency, jurisdiction] },
          };
          return [tried(node, 'Tenant', name, words, patch)];
        }),
    );
  }

  /** What the limit must name for one replica more: exactly what is used and what it asks for, where that is over. */
  #limit({ grant, used }: TenantAccount): (Amounts & { replicas?: number }) | undefined {
    if (grant === undefined || grant.isExpired === true || grant.source !== 'Whole') return undefined;
    const { charged } = schedulingClass(this.cell, this.classKey) ?? {};
    const short = amountWhere(charged ?? {}, (resource, count) => {
      const needed = (countOf(used, resource) ?? 0) + count;
      const most = countOf(grant.most, resource);
      return most !== undefined && needed > most ? needed : undefined;
    });
    return short === undefined ? undefined : amountsOf(short);
  }

  #jurisdictionOf(node: string): string | undefined {
    const shape = this.#shapeOf(node);
    return shape === undefined ? undefined : this.cell.regions.get(shape.region)?.jurisdiction;
  }

  #shapeOf(node: string) {
    const { nodes } = this.cell;
    const row = nodes.rowOf(node);
    return row === undefined ? undefined : nodes.shapeAt(row);
  }

  // ---- a node: what its operator says of it --------------------------------------------------------------

  #nodeCure({ node, against }: Refused): Tried | undefined {
    if (!isAll(against, ['schedulable', 'taints', 'tenancy', 'selector', 'recovery-pool'])) return undefined;
    const shape = this.#shapeOf(node);
    const revision = this.cell.revision(this.classKey);
    if (shape === undefined || revision === undefined) return undefined;
    const { tolerations = [], nodeSelector = {} } = revision.spec.placement ?? {};
    const words: string[] = [];
    const spec: Record<string, unknown> = {};
    const labels: Record<string, string | null> = {};
    if (shape.isUnschedulable) {
      words.push(`make node ${node} schedulable again`);
      spec['unschedulable'] = false;
    }
    if (shape.isDraining) {
      words.push(`end the drain of node ${node}`);
      spec['drain'] = null;
    }
    const repelling = shape.taints.filter(
      (taint) => taint.effect !== 'PreferNoSchedule' && !isTolerated(taint, tolerations),
    );
    if (repelling.length > 0) {
      words.push(`remove ${repelling.map(shownTaint).join(', ')} from the taints of node ${node}`);
      spec['taints'] = shape.taints.filter((taint) => !repelling.includes(taint));
    }
    if (shape.tenants.length > 0 && !shape.tenants.includes(this.#tenant)) {
      words.push(`admit tenant ${this.#tenant} to node ${node}`);
      spec['tenants'] = [...shape.tenants, this.#tenant];
    }
    for (const [key, value] of Object.entries(nodeSelector)) {
      if (ownValue(shape.labels, key) === value) continue;
      words.push(`label node ${node} with ${key}=${value}`);
      labels[key] = value;
    }
    if (against.some(({ filter }) => filter === 'recovery-pool')) {
      words.push(`take node ${node} out of the recovery pool`);
      labels[recoveryPoolLabel] = null;
    }
    const patch = {
      ...(Object.keys(labels).length > 0 && { metadata: { labels } }),
      ...(Object.keys(spec).length > 0 && { spec }),
    };
    return tried(node, 'Node', node, words.join(' and '), patch);
  }

  // ---- a node: what it has left --------------------------------------------------------------------------

  #capacityCures(): Tried[] {
    const { cell } = this;
    const revision = cell.revision(this.classKey);
    if (revision === undefined) return [];
    const asked = amountOf(amountsAsked(revision.spec.template.resources));
    const lacking = this.#refused.flatMap(({ node, against }) => {
      if (!isAll(against, ['resources', 'devices'])) return [];
      const account = cell.nodes.accounts[cell.nodes.rowOf(node) ?? -1];
      if (account === undefined) return [];
      let share = 0;
      const offered = amountWhere(asked, (resource, count) => {
        const used = countOf(account.used, resource) ?? 0;
        const most = countOf(account.allocatable, resource) ?? 0;
        const device = resource.startsWith('device/') ? resource.slice('device/'.length) : undefined;
        const ids = device === undefined ? [] : (ownValue(account.devices, device) ?? []);
        const claimed = ids.filter((id) => ownValue(account.claims.devices, id) !== undefined).length;
        // Devices are counted twice, as an amount and as ids that nobody claims; both must be enough.
        const needed = Math.max(used + count, device === undefined ? 0 : claimed + count);
        if (needed <= most && (device === undefined || needed <= ids.length)) return undefined;
        share = Math.max(share, (needed - most) / count);
        return needed;
      });
      return offered === undefined ? [] : [{ node, offered, share, account }];
    });
    return lacking
      .toSorted((a, b) => a.share - b.share || (a.node < b.node ? -1 : 1))
      .slice(0, nodesTried)
      .map(({ node, offered, account }) => {
        const missing = amountWhere(
          offered,
          (resource, needed) => needed - (countOf(account.allocatable, resource) ?? 0),
        );
        return {
          node,
          cure: {
            words: `free ${shownAmounts(amountsOf(missing ?? {}))} on node ${node}, or have it offer ${shownAmounts(amountsOf(offered))}`,
            kind: 'Node',
            name: node,
            change: { type: 'Register', allocatable: amountsOf(offered) },
          },
        };
      });
  }

  // ---- the workload: where it may be ---------------------------------------------------------------------

  #workloadCure({ node, against }: Refused): Tried | undefined {
    if (!isAll(against, ['region', 'zone', 'selector', 'taints', 'spread', 'spread-domain']))
      return undefined;
    const shape = this.#shapeOf(node);
    const revision = this.cell.revision(this.classKey);
    if (shape === undefined || revision === undefined) return undefined;
    const { spec } = revision;
    const { regions = [], zones = [], nodeSelector = {}, tolerations = [] } = spec.placement ?? {};
    const words: string[] = [];
    const placement: Record<string, unknown> = {};
    if (regions.length > 0 && !regions.includes(shape.region)) {
      words.push(`allow region ${shape.region}`);
      placement['regions'] = [...regions, shape.region];
    }
    if (zones.length > 0 && !zones.includes(shape.zone)) {
      words.push(`allow zone ${shape.zone}`);
      placement['zones'] = [...zones, shape.zone];
    }
    const unlike = Object.entries(nodeSelector).filter(
      ([key, value]) => ownValue(shape.labels, key) !== value,
    );
    if (unlike.length > 0) {
      words.push(
        `do without the node selector ${unlike.map(([key, value]) => `${key}=${value}`).join(', ')}`,
      );
      placement['nodeSelector'] = Object.fromEntries(unlike.map(([key]) => [key, null]));
    }
    const repelling = shape.taints.filter(
      (taint) => taint.effect !== 'PreferNoSchedule' && !isTolerated(taint, tolerations),
    );
    if (repelling.length > 0) {
      words.push(`tolerate ${repelling.map(shownTaint).join(', ')}`);
      placement['tolerations'] = [
        ...tolerations,
        ...repelling.map(({ key, value = '', effect }) => ({ key, operator: 'Equal', value, effect })),
      ];
    }
    const spread = this.#evenEnough(node);
    if (spread !== undefined) {
      words.push(spread.words);
      placement['spread'] = spread.rules;
    }
    const name = spec.workload;
    const all = `let workload ${name} ${words.join(' and ')}`;
    return tried(node, 'Workload', name, all, { spec: { placement } }, this.#tenant);
  }

  /** The rules of spreading with the least skew that lets one more be on a node; undefined if it may already. */
  #evenEnough(node: string): { readonly words: string; readonly rules: readonly unknown[] } | undefined {
    const { cell } = this;
    const cls = schedulingClass(cell, this.classKey);
    const shape = this.#shapeOf(node);
    const row = cell.nodes.rowOf(node);
    if (cls === undefined || shape === undefined || row === undefined) return undefined;
    const { zones, regions } = cell.spreadOf(cls.tenant, cls.spec.workload);
    const words: string[] = [];
    const rules = (cls.spec.placement?.spread ?? []).map((rule) => {
      const { topology, maxSkew = 1, mode = 'Required' } = rule;
      if (mode !== 'Required') return rule;
      const needed = ((): number => {
        if (topology === 'Node')
          return 1 + sum(cls.ownKeys.map((key) => cell.nodes.revisionRows.countAt(key, row)));
        const counts = topology === 'Zone' ? zones : regions;
        const { here, fewest } = spreadCounts(cls.spec, topology, shape, counts, cls.zonesOf);
        return here + 1 - fewest;
      })();
      if (needed <= maxSkew) return rule;
      words.push(`be uneven by ${needed} over each ${topology.toLowerCase()}`);
      return { ...rule, maxSkew: needed };
    });
    return words.length === 0 ? undefined : { words: words.join(' and '), rules };
  }

  // ---- the priority class, and a node that is not there --------------------------------------------------

  #poolCure({ node, against }: Refused): Tried | undefined {
    if (!isAll(against, ['recovery-pool'])) return undefined;
    const name = this.cell.revision(this.classKey)?.spec.priorityClassName ?? 'default';
    const words = `let priority class ${name} use recovery pools, such as node ${node}`;
    return tried(node, 'PriorityClass', name, words, { spec: { recoveryPools: true } });
  }

  /** A node with exactly what a replica asks for, in the first place that its rules allow. */
  #newNode(): Cure[] {
    const revision = this.cell.revision(this.classKey);
    if (revision === undefined || this.options.onlyNode !== undefined) return [];
    const { placement = {}, template } = revision.spec;
    const allocatable = amountsOf(amountOf(amountsAsked(template.resources)));
    const name = this.#freeName();
    const isNamed = (rule: NeighbourRule): boolean => rule.selector !== undefined;
    // Near to what it must be together with is nowhere in general.
    if ((placement.affinity ?? []).some(isNamed)) return [];
    for (const { region, zone } of this.#places()) {
      const cure: Cure = {
        words: `add a node with ${shownAmounts(allocatable)} in ${region}/${zone}`,
        kind: 'Node',
        name,
        change: { type: 'Create', region, zone, labels: placement.nodeSelector ?? {}, allocatable },
      };
      if (this.#helps(cure, name)) return [cure];
    }
    return [];
  }

  #places(): { readonly region: string; readonly zone: string }[] {
    const { cell } = this;
    const places = new Map<string, { readonly region: string; readonly zone: string }>();
    const add = (region: string, zone: string): void =>
      void places.set(`${region}/${zone}`, { region, zone });
    for (const { region, zone } of cell.nodes.domains) add(region, zone);
    for (const [region, { zones = [] }] of cell.regions) for (const zone of zones) add(region, zone);
    if (places.size === 0) add('local', 'local');
    return [...places.values()].toSorted((a, b) => (a.region + a.zone < b.region + b.zone ? -1 : 1));
  }

  #freeName(): string {
    for (let number = 1; ; number += 1)
      if (this.cell.nodes.rowOf(`new-node-${number}`) === undefined) return `new-node-${number}`;
  }
}

/** A cure with the node that the replica would then go to. */
interface Tried {
  readonly cure: Cure;
  readonly node: string;
}

const tried = (
  node: string,
  kind: Cure['kind'],
  name: string,
  words: string,
  patch: Readonly<Record<string, unknown>>,
  namespace?: string,
): Tried => ({
  node,
  cure: {
    words,
    kind,
    name,
    ...(namespace !== undefined && { namespace }),
    change: { type: 'Patch', patch },
  },
});

const isAll = (against: readonly Verdict[], filters: readonly string[]): boolean =>
  against.every(({ filter }) => filters.includes(filter));

const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);

/** The resources of an amount for which a function gives a count; undefined if there is none. */
function amountWhere(
  amount: Amount,
  countFor: (resource: string, count: number) => number | undefined,
): Amount | undefined {
  const found: { cpuMilli?: number; memoryBytes?: number; replicas?: number } = {};
  const devices: Record<string, number> = {};
  for (const [resource, count] of eachResource(amount)) {
    const value = count === 0 ? undefined : countFor(resource, count);
    if (value === undefined) continue;
    if (resource === 'cpu') found.cpuMilli = value;
    else if (resource === 'memory') found.memoryBytes = value;
    else if (resource === 'replicas') found.replicas = value;
    else devices[resource.slice('device/'.length)] = value;
  }
  const hasDevices = Object.keys(devices).length > 0;
  if (Object.keys(found).length === 0 && !hasDevices) return undefined;
  return { ...found, ...(hasDevices && { devices }) };
}

/** `cpu 2, memory 4Gi, gpu 1`. */
function shownAmounts({ devices = {}, ...rest }: Amounts & { readonly replicas?: number }): string {
  const parts = [...Object.entries(rest), ...Object.entries(devices)].map(
    ([name, value]) => `${name} ${value}`,
  );
  return parts.length === 0 ? 'nothing in particular' : parts.join(', ');
}

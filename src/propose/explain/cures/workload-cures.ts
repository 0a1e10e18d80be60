import { ownValue } from '../../../model/amount.js';
import { isTolerated, shownTaint, spreadCounts } from '../../../model/placement-rules.js';
import { loosenedApart, loosenedPorts } from './loosened-rules.js';
import {
  type CureContext,
  isAllBy,
  type Part,
  patching,
  shapeOf,
  sum,
  type TriedCure,
} from './tried-cure.js';
import type { NodeVerdicts } from '../../verdicts.js';

/**
 * What the owner of a workload would change of where it may be: regions, zones, selector, tolerations, spreading, keeping
 * apart, the numbers of ports.
 */
export function workloadCure(context: CureContext, refused: NodeVerdicts): TriedCure | undefined {
  const { cell, cls } = context;
  const { node } = refused;
  const shape = shapeOf(cell, node);
  if (
    shape === undefined ||
    !isAllBy(refused, [
      ...['region', 'zone', 'selector', 'taints', 'spread', 'spread-domain'],
      ...['anti-affinity', 'anti-affinity-domain', 'ports'],
    ])
  )
    return undefined;
  const { regions = [], zones = [], nodeSelector = {}, tolerations = [] } = cls.spec.placement ?? {};
  const parts: Part[] = [];
  const placement: Record<string, unknown> = {};
  if (regions.length > 0 && !regions.includes(shape.region)) {
    parts.push({ words: `go to region ${shape.region}` });
    placement['regions'] = [...regions, shape.region];
  }
  if (zones.length > 0 && !zones.includes(shape.zone)) {
    parts.push({ words: `go to zone ${shape.zone}` });
    placement['zones'] = [...zones, shape.zone];
  }
  const unlike = Object.entries(nodeSelector).filter(([key, value]) => ownValue(shape.labels, key) !== value);
  for (const [key, value] of unlike) parts.push({ words: `do without the node selector ${key}=${value}` });
  if (unlike.length > 0) placement['nodeSelector'] = Object.fromEntries(unlike.map(([key]) => [key, null]));
  const repelling = shape.taints.filter(
    (taint) => taint.effect !== 'PreferNoSchedule' && !isTolerated(taint, tolerations),
  );
  for (const taint of repelling) parts.push({ words: `tolerate ${shownTaint(taint)}` });
  if (repelling.length > 0)
    placement['tolerations'] = [
      ...tolerations,
      ...repelling.map(({ key, value = '', effect }) => ({ key, operator: 'Equal', value, effect })),
    ];
  const spread = evenEnough(context, node);
  parts.push(...spread.parts);
  if (spread.parts.length > 0) placement['spread'] = spread.rules;
  const apart = loosenedApart(context, refused);
  parts.push(...apart.parts);
  if (apart.parts.length > 0) placement['antiAffinity'] = apart.list;
  const ports = loosenedPorts(context, refused);
  parts.push(...ports.parts);
  const workload = { kind: 'Workload', namespace: cls.tenant, name: cls.spec.workload } as const;
  const spec = {
    ...(Object.keys(placement).length > 0 && { placement }),
    ...(ports.parts.length > 0 && { template: { resources: { ports: ports.list } } }),
  };
  return patching(workload, node, parts, { spec }, (words) => `let ${workload.name} ${words}`);
}

/** The rules of spreading with the least skew that lets one more be on a node, and what of them is new. */
function evenEnough(
  { cell, cls }: CureContext,
  node: string,
): { readonly parts: readonly Part[]; readonly rules: readonly unknown[] } {
  const shape = shapeOf(cell, node);
  const row = cell.nodes.rowOf(node);
  if (shape === undefined || row === undefined) return { parts: [], rules: [] };
  const { zones, regions } = cell.spreadOf(cls.tenant, cls.spec.workload);
  const parts: Part[] = [];
  const rules = (cls.spec.placement?.spread ?? []).map((rule, index) => {
    const { topology, maxSkew = 1, mode = 'Required' } = rule;
    const needed = ((): number => {
      if (mode !== 'Required') return 0;
      if (topology === 'Node')
        return 1 + sum(cls.ownKeys.map((key) => cell.nodes.revisionRows.countAt(key, row)));
      const counts = topology === 'Zone' ? zones : regions;
      const { here, fewest } = spreadCounts(cls.spec, topology, shape, counts, cls);
      return here + 1 - fewest;
    })();
    if (needed <= maxSkew) return rule;
    const words = `be spread over each ${topology.toLowerCase()} with maxSkew ${needed}`;
    parts.push({ words, name: `spread/${index}`, level: needed });
    return { ...rule, maxSkew: needed };
  });
  return { parts, rules };
}

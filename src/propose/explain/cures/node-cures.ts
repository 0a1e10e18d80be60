import { ownValue } from '../../../model/amount.js';
import { isTolerated, shownTaint } from '../../../model/placement-rules.js';
import { recoveryPoolLabel } from '../../../model/records.js';
import { type CureContext, isAllBy, type Part, patching, shapeOf, type TriedCure } from './tried-cure.js';
import type { NodeVerdicts } from '../../verdicts.js';

/** What the operator of a node would change of it: cordon, drain, taints, tenants, labels. */
export function nodeCure({ cell, cls }: CureContext, refused: NodeVerdicts): TriedCure | undefined {
  const { node, against } = refused;
  const shape = shapeOf(cell, node);
  if (
    shape === undefined ||
    !isAllBy(refused, ['schedulable', 'taints', 'tenancy', 'selector', 'recovery-pool'])
  )
    return undefined;
  const { tolerations = [], nodeSelector = {} } = cls.spec.placement ?? {};
  const parts: Part[] = [];
  const spec: Record<string, unknown> = {};
  const labels: Record<string, string | null> = {};
  if (shape.isUnschedulable) {
    parts.push({ words: `make node ${node} schedulable again` });
    spec['unschedulable'] = false;
  }
  if (shape.isDraining) {
    parts.push({ words: `end the drain of node ${node}` });
    spec['drain'] = null;
  }
  const repelling = shape.taints.filter(
    (taint) => taint.effect !== 'PreferNoSchedule' && !isTolerated(taint, tolerations),
  );
  for (const taint of repelling)
    parts.push({ words: `remove the taint ${shownTaint(taint)} from node ${node}` });
  if (repelling.length > 0) spec['taints'] = shape.taints.filter((taint) => !repelling.includes(taint));
  if (shape.tenants.length > 0 && !shape.tenants.includes(cls.tenant)) {
    parts.push({ words: `admit tenant ${cls.tenant} to node ${node}` });
    spec['tenants'] = [...shape.tenants, cls.tenant];
  }
  for (const [key, value] of Object.entries(nodeSelector)) {
    if (ownValue(shape.labels, key) === value) continue;
    parts.push({ words: `label node ${node} with ${key}=${value}` });
    labels[key] = value;
  }
  if (against.some(({ filter }) => filter === 'recovery-pool')) {
    parts.push({ words: `take node ${node} out of the recovery pool` });
    labels[recoveryPoolLabel] = null;
  }
  return patching({ kind: 'Node', name: node }, node, parts, {
    ...(Object.keys(labels).length > 0 && { metadata: { labels } }),
    ...(Object.keys(spec).length > 0 && { spec }),
  });
}

/** The other way into a recovery pool: a priority class that may use it. */
export function poolCure({ cls }: CureContext, refused: NodeVerdicts): TriedCure | undefined {
  if (!isAllBy(refused, ['recovery-pool'])) return undefined;
  const name = cls.spec.priorityClassName ?? 'default';
  const words = `let priority class ${name} use recovery pools`;
  return patching({ kind: 'PriorityClass', name }, refused.node, [{ words }], {
    spec: { recoveryPools: true },
  });
}

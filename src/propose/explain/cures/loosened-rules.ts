import { isRequired } from '../../../model/placement-rules.js';
import type { WorkloadRevisionSpec } from '../../../model/kinds/workload-revision.js';
import { asIfCured } from './cure-records.js';
import { type CureContext, type Part, patching } from './tried-cure.js';
import type { NodeVerdicts } from '../../verdicts.js';

type ApartRule = NonNullable<NonNullable<WorkloadRevisionSpec['placement']>['antiAffinity']>[number];

/** What a list would be once the workload asks for less, and which parts of it are new. */
export interface Loosened<T> {
  readonly parts: readonly Part[];
  readonly list: readonly T[];
}

/** The rules of keeping apart of which those that a node breaks are wishes only. */
export function loosenedApart(context: CureContext, { node, against }: NodeVerdicts): Loosened<ApartRule> {
  const rules = context.cls.spec.placement?.antiAffinity ?? [];
  if (!against.some(isAboutApart)) return { parts: [], list: rules };
  const loosened = rules.map((rule): ApartRule => ({ ...rule, mode: 'Preferred' }));
  const parts: Part[] = [];
  const list = rules.map((rule, index) => {
    if (!isRequired(rule) || !isBroken(context, node, loosened.with(index, rule))) return rule;
    const words = `keep apart in each ${rule.topology.toLowerCase()} only where it can`;
    parts.push({ words, name: `antiAffinity/${index}` });
    return loosened[index] ?? rule;
  });
  return { parts, list };
}

const isAboutApart = ({ filter }: { readonly filter: string }): boolean =>
  filter === 'anti-affinity' || filter === 'anti-affinity-domain';

/** Whether replicas with these rules would have to be kept apart from what is there. */
function isBroken(
  { cell, cls, classKey, ask }: CureContext,
  node: string,
  rules: readonly ApartRule[],
): boolean {
  const workload = { kind: 'Workload', namespace: cls.tenant, name: cls.spec.workload } as const;
  const { cure } = patching(workload, node, [], { spec: { placement: { antiAffinity: rules } } });
  return asIfCured(cell, classKey, cure, () =>
    ask(node).some((verdict) => isAboutApart(verdict) && !verdict.passes),
  );
}

/** The ports that are asked for, of which those whose number another has on a node are asked for by name alone. */
export function loosenedPorts({ cell, cls }: CureContext, { node }: NodeVerdicts): Loosened<string> {
  const row = cell.nodes.rowOf(node);
  const parts: Part[] = [];
  const list = cls.ports.map((port) => {
    const [name = '', number] = port.split(':');
    if (number === undefined || row === undefined || !cell.nodes.isPortClaimed(row, Number(number)))
      return port;
    parts.push({ words: `take any port for ${name} instead of ${number}`, name: `ports/${port}` });
    return name;
  });
  return { parts, list };
}

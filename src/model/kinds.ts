import { apiVersionOf, type KindDefinition } from './kind.js';
import { decision } from './kinds/decision.js';
import { endpoints } from './kinds/endpoints.js';
import { event } from './kinds/event.js';
import { gang } from './kinds/gang.js';
import { lease } from './kinds/lease.js';
import { namespace } from './kinds/namespace.js';
import { nodeLedger } from './kinds/node-ledger.js';
import { node } from './kinds/node.js';
import { priorityClass } from './kinds/priority-class.js';
import { region } from './kinds/region.js';
import { replica } from './kinds/replica.js';
import { reservation } from './kinds/reservation.js';
import { tenantLedger } from './kinds/tenant-ledger.js';
import { tenant } from './kinds/tenant.js';
import { workloadRevision } from './kinds/workload-revision.js';
import { workload } from './kinds/workload.js';
import { nearest } from './nearest.js';

/** Every kind there is. No two share a kind, plural, singular or short name. */
export const kinds: readonly KindDefinition[] = [
  workload,
  workloadRevision,
  replica,
  node,
  tenant,
  priorityClass,
  region,
  lease,
  nodeLedger,
  tenantLedger,
  reservation,
  gang,
  decision,
  endpoints,
  event,
  namespace,
];

const byKind = new Map(kinds.map((definition) => [definition.kind, definition]));
const byName = new Map(
  kinds.flatMap((definition) =>
    [definition.plural, definition.singular, ...definition.shortNames].map(
      (name) => [name, definition] as const,
    ),
  ),
);

/** By the kind's own name, as manifests have it; of that apiVersion if one is given. */
export function kindNamed(kind: string, apiVersion?: string): KindDefinition | undefined {
  const found = byKind.get(kind);
  return found !== undefined && apiVersion !== undefined && apiVersionOf(found) !== apiVersion
    ? undefined
    : found;
}

/** By what people type: plural, singular or short name, in any case, also with its group (workloads.berth.dev). */
export function kindCalled(word: string): KindDefinition | undefined {
  const [name = '', ...group] = word.toLowerCase().split('.');
  const found = byName.get(name);
  return group.length === 0 || found?.group === group.join('.') ? found : undefined;
}

/** The name of a kind that `word` is most likely a typo of. */
export function nearestKind(word: string): string | undefined {
  return nearest(word, [...byName.keys()]);
}

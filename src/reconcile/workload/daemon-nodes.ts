import type { Node } from '../../model/kinds/node.js';
import type { Workload } from '../../model/kinds/workload.js';

/**
 * What a Daemon wants of a node. Run: one replica. Keep: those that are there stay, no new one comes; the drain
 * takes them away where there is one. None: it is not for this workload.
 */
export function daemonWish(
  { metadata, spec: { placement = {} } }: Workload,
  node: Node,
): 'Run' | 'Keep' | 'None' {
  const { region = '', zone = '', tenants = [], unschedulable = false, drain } = node.spec;
  const { regions = [], zones = [], nodeSelector = {} } = placement;
  const labels = node.metadata.labels ?? {};
  const isAllowed =
    (regions.length === 0 || regions.includes(region)) &&
    (zones.length === 0 || zones.includes(zone)) &&
    (tenants.length === 0 || tenants.includes(metadata.namespace ?? '')) &&
    Object.entries(nodeSelector).every(([name, value]) => labels[name] === value);
  if (!isAllowed || node.metadata.deletionTimestamp !== undefined) return 'None';
  return unschedulable || drain !== undefined ? 'Keep' : 'Run';
}

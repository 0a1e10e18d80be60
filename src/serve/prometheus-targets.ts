import { isIP } from 'node:net';
import type { Endpoints } from '../model/kinds/endpoints.js';

/** What Prometheus' HTTP service discovery reads: targets that share labels. */
export interface TargetGroup {
  readonly targets: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
}

export interface TargetsAsked {
  readonly tenant?: string;
  readonly workload?: string;
  /** Only ports of this name. */
  readonly port?: string;
}

/** Every port of every serving replica that is asked for, with what is known of it as labels to relabel from. */
export function prometheusTargets(all: Iterable<Endpoints>, asked: TargetsAsked): readonly TargetGroup[] {
  const groups: TargetGroup[] = [];
  for (const { metadata, status } of all) {
    const { namespace: tenant = '', name: workload } = metadata;
    if ((asked.tenant ?? tenant) !== tenant || (asked.workload ?? workload) !== workload) continue;
    for (const { replica, node, address, region = '', zone = '', ports = {} } of status?.addresses ?? [])
      for (const [port, number] of Object.entries(ports)) {
        if ((asked.port ?? port) !== port) continue;
        const host = isIP(address) === 6 ? `[${address}]` : address;
        groups.push({
          targets: [`${host}:${number}`],
          labels: {
            __meta_berth_tenant: tenant,
            __meta_berth_workload: workload,
            __meta_berth_replica: replica,
            __meta_berth_port: port,
            __meta_berth_node: node,
            __meta_berth_region: region,
            __meta_berth_zone: zone,
          },
        });
      }
  }
  return groups;
}

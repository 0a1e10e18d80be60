import type { Endpoints } from '../../model/kinds/endpoints.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Workload } from '../../model/kinds/workload.js';
import type { Actor, Authority, Publish } from '../../model/ports.js';
import { refOf } from '../../model/replica-ref.js';
import { awaitsWithdrawal } from '../../model/withdrawal.js';
import type { Reach } from './server.js';
import type { Life } from './sim-process.js';
import type { World } from './world.js';

/**
 * Endpoints that were made from others than there are, or that name who leaves: neither may ever be published. Nor has
 * anybody left those that are no more.
 */
export async function publishForbidden(
  world: World,
  { env: { random } }: Life,
  { objects }: Reach,
  authority: Authority,
  actor: Actor,
): Promise<void> {
  const all = [...objects.list<Endpoints>('Endpoints')].filter(
    ({ status }) => (status?.addresses ?? []).length > 0,
  );
  if (all.length === 0) return;
  const { metadata, status } = random.pick(all);
  const { namespace: tenant = '', name, resourceVersion } = metadata;
  const workload = objects.get<Workload>('Workload', tenant, name);
  const { conditions: _, ...endpoints } = status ?? {};
  if (workload === undefined) return;
  const publish = (seen: number, leaving: Publish['leaving']): ReturnType<Authority['publish']> =>
    authority.publish({
      ...{ actor, tenant, workload: name, workloadUid: workload.metadata.uid, endpoints, leaving },
      seen: String(seen),
    });
  const leaving = [...objects.list<Replica>('Replica', tenant)].filter(
    (one) => one.spec.workload === name && awaitsWithdrawal(one),
  );
  if (leaving.length > 0 && random.chance(0.5)) {
    const left = random.pick(leaving);
    return world.mustReject(
      'S6',
      `that ${left.metadata.name} has left endpoints that are older than those of ${tenant}/${name}`,
      authority.withdraw({
        ...{ actor, replica: refOf(left), workload: name },
        seen: String(Number(resourceVersion) - 1),
      }),
    );
  }
  if (random.chance(0.5))
    return world.mustReject(
      'S6',
      `endpoints of ${tenant}/${name} made from older ones`,
      publish(Number(resourceVersion) - 1, []),
    );
  const listed = objects.get<Replica>('Replica', tenant, endpoints.addresses?.[0]?.replica ?? '');
  if (listed === undefined) return;
  return world.mustReject(
    'S6',
    `endpoints of ${tenant}/${name} that name ${listed.metadata.name}, which leaves with them,`,
    publish(Number(resourceVersion), [refOf(listed)]),
  );
}

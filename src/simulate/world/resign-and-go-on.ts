import type { Node } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Actor, Authority } from '../../model/ports.js';
import { refOf } from '../../model/replica-ref.js';
import { none } from './played-actors.js';
import type { Reach } from './server.js';
import type { Life } from './sim-process.js';

/** Releases the lease of an actor, which then acts as if it still held the lease. */
export async function resignAndGoOn(
  { env }: Life,
  { objects }: Reach,
  authority: Authority,
  actor: Actor,
): Promise<void> {
  const { name: holder, kind, lease } = actor;
  const { random } = env;
  if (lease === undefined) return;
  await authority.resign({ ...lease, holder, reason: 'Bored' });
  const replicas = [...objects.list<Replica>('Replica')];
  const nodes = [...objects.list<Node>('Node')];
  if (replicas.length === 0 || nodes.length === 0) return;
  const { metadata, status } = random.pick(nodes);
  const replica = random.pick(replicas);
  const acting = { actor, reason: 'Meddling', operation: env.uuid() };
  if (kind === 'detector')
    await authority.gate({
      ...{ ...acting, node: metadata.name, nodeEpoch: status?.epoch ?? none, reachability: 'Suspect' },
    });
  else if (kind === 'repair-controller')
    await authority.move({
      ...{ ...acting, replica: refOf(replica), from: replica.status?.stage ?? 'Queued', to: 'Unknown' },
    });
  else await authority.evict({ ...acting, replica: refOf(replica) });
}

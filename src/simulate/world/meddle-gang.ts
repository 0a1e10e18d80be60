import type { Gang } from '../../model/kinds/gang.js';
import type { Node } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Reservation } from '../../model/kinds/reservation.js';
import type { Actor, Authority } from '../../model/ports.js';
import { refOf } from '../../model/replica-ref.js';
import { none } from './played-actors.js';
import type { Reach } from './server.js';
import type { Life } from './sim-process.js';

type State = NonNullable<Gang['status']>['state'];

const next = {
  Waiting: 'Reserving',
  Reserving: 'Released',
  Released: 'Waiting',
  Committed: 'Released',
} as const satisfies Record<State, State>;

/**
 * Moves the gang of the platform on, or anywhere; gives it up and begins anew before its members have let go; or binds one
 * of them before the others have a place.
 */
export async function meddleWithGang(
  life: Life,
  reach: Reach,
  authority: Authority,
  actor: Actor,
  id: string,
): Promise<void> {
  const { random } = life.env;
  const gang = reach.objects.get<Gang>('Gang', 'beta', 'crew');
  const { state = 'Waiting', holds = 0 } = gang?.status ?? {};
  const move = (to: State, operation: string): Promise<unknown> =>
    authority.moveGang({
      ...{ actor, tenant: 'beta', gang: 'crew', uid: gang?.metadata.uid ?? '' },
      ...{ to, operation },
    });
  if (state !== 'Committed' && random.chance(0.4)) return bindMember(life, reach, authority, actor, id);
  if (state === 'Reserving' && holds > 0 && random.chance(0.5)) {
    await move('Released', id);
    await move('Waiting', `${id}/anew`);
    return;
  }
  await move(
    random.chance(0.7)
      ? next[state]
      : random.pick(['Waiting', 'Reserving', 'Committed', 'Released'] as const),
    id,
  );
}

/** Binds a member where it holds, or anywhere. */
async function bindMember(
  { env: { random } }: Life,
  { objects }: Reach,
  authority: Authority,
  actor: Actor,
  id: string,
): Promise<void> {
  const waiting = [...objects.list<Replica>('Replica', 'beta')].filter(
    ({ spec, status }) =>
      spec.gang === 'crew' && (status?.stage === 'Queued' || status?.stage === 'Scheduled'),
  );
  const nodes = [...objects.list<Node>('Node')];
  if (waiting.length === 0 || nodes.length === 0) return;
  const member = random.pick(waiting);
  const hold = objects.get<Reservation>('Reservation', 'beta', member.status?.hold ?? '');
  const node = nodes.find(({ metadata }) => metadata.name === hold?.spec.node) ?? random.pick(nodes);
  await authority.bind([
    {
      ...{ actor, replica: refOf(member), node: node.metadata.name, nodeEpoch: node.status?.epoch ?? none },
      ...{ snapshotRevision: '1', policyRevision: 'builtin', operation: id },
    },
  ]);
}

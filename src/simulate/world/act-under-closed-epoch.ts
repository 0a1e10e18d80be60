import type { Replica } from '../../model/kinds/replica.js';
import { type Epoch, nodeLeaseName } from '../../model/records.js';
import { refOf } from '../../model/replica-ref.js';
import { pretend } from './played-actors.js';
import type { Reach } from './server.js';
import type { World } from './world.js';

/** [S8] Places, reports, renews and opens the gate under an epoch of a node that is closed. The authority refuses all of it. */
export async function actUnderClosedEpoch(
  world: World,
  reach: Reach,
  node: string,
  nodeEpoch: Epoch,
): Promise<void> {
  const { life, objects, authority } = reach;
  const { random } = life.env;
  const at = { node, nodeEpoch };
  const id = (what: string): string => `closed/${what}/${life.env.uuid()}`;
  const replicas = [...objects.list<Replica>('Replica')];
  const waiting = replicas.filter(({ status }) => status?.stage === 'Queued');
  const there = replicas.filter(({ status }) => status?.binding?.node === node);
  const what = (operation: string): string => `${operation} under the closed epoch of ${node}`;
  const renewal = { name: nodeLeaseName(node), holder: node, epoch: nodeEpoch };
  await world.mustReject('S8', what('a renewal'), authority.renew(renewal));
  const detector = pretend(life, reach, 'detector');
  if (detector !== undefined)
    await world.mustReject(
      'S8',
      what('a gate that is opened'),
      authority.gate({
        ...{ ...at, actor: detector, reachability: 'Fresh', reason: 'Late', operation: id('gate') },
      }),
    );
  const [running] = there;
  if (running?.status?.binding !== undefined)
    await world.mustReject(
      'S8',
      what('a report'),
      authority.report({
        ...{ ...at, replica: refOf(running), fence: running.status.binding.fence },
        ...{ stage: 'Failed', reason: 'Late', operation: id('report') },
      }),
    );
  const scheduler = pretend(life, reach, 'scheduler');
  if (scheduler === undefined || waiting.length === 0) return;
  const proposal = {
    ...{ ...at, actor: scheduler, replica: refOf(random.pick(waiting)) },
    ...{ snapshotRevision: '1', policyRevision: 'builtin', operation: id('place') },
  };
  if (random.chance(0.5))
    await world.mustReject(
      'S8',
      what('a hold'),
      authority.reserve({ ...proposal, intent: 'Bind', deadlineSeconds: 20 }),
    );
  else
    await world.mustReject(
      'S8',
      what('a bind'),
      authority
        .bind([proposal])
        .then(([outcome]) => outcome ?? { kind: 'UnknownOutcome', message: 'no answer' }),
    );
}

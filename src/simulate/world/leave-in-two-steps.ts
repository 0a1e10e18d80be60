import type { Endpoints } from '../../model/kinds/endpoints.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Workload } from '../../model/kinds/workload.js';
import type { Authority } from '../../model/ports.js';
import { refOf } from '../../model/replica-ref.js';
import { awaitsWithdrawal } from '../../model/withdrawal.js';
import { pretend } from './played-actors.js';
import type { Reach } from './server.js';
import type { Life } from './sim-process.js';

/**
 * Publishes endpoints without a replica that shall stop, and then withdraws it, as the controller does where many leave.
 * False: no replica of the cell is to leave.
 */
export async function leaveInTwoSteps(life: Life, reach: Reach, authority: Authority): Promise<boolean> {
  const { objects } = reach;
  const actor = pretend(life, reach, 'endpoints-controller');
  const leaving = [...objects.list<Replica>('Replica')].filter(
    (one) => awaitsWithdrawal(one) && one.status?.isListed === true,
  );
  if (actor === undefined || leaving.length === 0) return false;
  const replica = life.env.random.pick(leaving);
  const { namespace: tenant = '' } = replica.metadata;
  const { workload } = replica.spec;
  const uid = objects.get<Workload>('Workload', tenant, workload)?.metadata.uid;
  const before = objects.get<Endpoints>('Endpoints', tenant, workload);
  if (uid === undefined || before === undefined) return false;
  const { conditions: _, addresses = [], ...endpoints } = before.status ?? {};
  const published = await authority.publish({
    ...{ actor, tenant, workload, workloadUid: uid, seen: before.metadata.resourceVersion, leaving: [] },
    endpoints: {
      ...endpoints,
      addresses: addresses.filter((address) => address.replica !== replica.metadata.name),
    },
  });
  if (published.kind === 'Committed')
    await authority.withdraw({ actor, replica: refOf(replica), workload, seen: published.revision });
  return true;
}

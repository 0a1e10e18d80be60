import type { Endpoints } from '../../model/kinds/endpoints.js';
import type { Publish } from '../../model/ports.js';
import { objectKey, statusKey } from '../../model/records.js';
import { checkActor } from '../act.js';
import type { Context } from '../context.js';
import { commit, type Decide, reject } from '../decision.js';
import type { Draft } from '../draft.js';
import { findReplica } from '../replica-moves.js';
import { putStatus, statusOf, storedWorkload } from '../stored.js';

/**
 * Writes where a workload's serving replicas are, and in the same transaction that some are there no more: what was
 * withdrawn is never listed again by a write that was decided before it, for that write saw other endpoints.
 */
export const publish =
  (context: Context, input: Publish): Decide<undefined> =>
  (draft) => {
    const { actor, tenant, workload: name, endpoints, leaving } = input;
    const stale = checkActor(context, draft, 'publish', actor);
    if (stale !== undefined) return stale;
    const workload = storedWorkload(draft, tenant, name);
    if (workload === undefined || workload.metadata.uid !== input.workloadUid)
      return reject('EndpointsChanged', `workload ${tenant}/${name} is gone`);
    const version = endpointsVersion(draft, tenant, name);
    if (version !== Number(input.seen ?? 0) && context.checks.has('publish.seen'))
      return reject(
        'EndpointsChanged',
        `endpoints ${tenant}/${name} are at ${version}, not at ${input.seen ?? 'none'}`,
      );
    const listed = new Set(endpoints.addresses?.map(({ replica }) => replica));
    const both = leaving.find((replica) => listed.has(replica.name));
    if (both !== undefined && context.checks.has('publish.leaving'))
      return reject('EndpointsChanged', `${both.name} is listed: it cannot leave at once`);
    for (const ref of leaving) {
      const replica = findReplica(draft, ref);
      if (replica?.status.isListed !== true) continue;
      const { isListed: _, ...rest } = replica.status;
      putStatus(draft, 'Replica', tenant, ref.name, rest);
    }
    if (version === 0)
      draft.put(objectKey('Endpoints', tenant, name), {
        apiVersion: 'berth.dev/v1',
        kind: 'Endpoints',
        metadata: {
          ...{ name, namespace: tenant, uid: context.uid, generation: 1, creationTimestamp: context.at },
          labels: { 'berth.dev/workload': name },
          ownerReferences: [
            {
              ...{ apiVersion: 'berth.dev/v1', kind: 'Workload', name, uid: workload.metadata.uid },
              controller: true,
            },
          ],
        },
      });
    const before = statusOf<Endpoints>(draft, 'Endpoints', tenant, name);
    // Also when it says what it said: that it was written is what keeps older ones out.
    putStatus(draft, 'Endpoints', tenant, name, { ...before, ...endpoints });
    return commit(undefined);
  };

/** The resourceVersion of the endpoints; 0 if there are none. */
export const endpointsVersion = (draft: Draft, tenant: string, name: string): number =>
  Math.max(
    draft.versionOf(objectKey('Endpoints', tenant, name)),
    draft.versionOf(statusKey('Endpoints', tenant, name)),
  );

import { readFileSync } from 'node:fs';
import type { AgentConfigSpec } from '../agent/machine/agent-config.js';
import { areIdsMapped, tenantUser, tenantUsersUsual } from '../agent/machine/tenant-user.js';
import type { UserOf } from '../agent/supervisor/run-spec.js';
import { BerthError } from '../model/errors.js';
import { userNamed } from './user-named.js';

/**
 * Jobs of an agent that runs as root run as somebody who may do little, and those of two tenants as two, unless its
 * operator says otherwise. Undefined: as whoever the agent runs as.
 */
export function userOfTenants(
  { runAs, tenantUsers }: AgentConfigSpec,
  onProblem: (line: string) => void,
): UserOf | undefined {
  const isRoot = process.getuid?.() === 0;
  if (!isRoot && (runAs ?? tenantUsers) !== undefined)
    throw wrong(
      `spec.${runAs === undefined ? 'tenantUsers' : 'runAs'}: only an agent that runs as root may choose`,
    );
  if (runAs !== undefined && tenantUsers !== undefined)
    throw wrong('spec.tenantUsers: not with runAs, which is one user for all tenants');
  if (!isRoot || runAs === 'root') return undefined;
  if (runAs !== undefined) return always(userNamed(runAs));
  const range = tenantUsers ?? tenantUsersUsual;
  const isThere = ['uid_map', 'gid_map'].every((name) =>
    areIdsMapped(readFileSync(`/proc/self/${name}`, 'utf8'), range),
  );
  if (isThere) return (tenant) => tenantUser(tenant, range);
  const missing = `there are no users ${range.from} to ${range.from + range.count - 1} on this machine`;
  if (tenantUsers !== undefined) throw wrong(`spec.tenantUsers: ${missing}`);
  onProblem(`${missing} (spec.tenantUsers): jobs of all tenants run as nobody, and are not kept apart`);
  return always(userNamed('nobody'));
}

const always =
  (user: ReturnType<UserOf>): UserOf =>
  () =>
    user;

const wrong = (message: string): BerthError => new BerthError('InvalidAgentConfig', message);

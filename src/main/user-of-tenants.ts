import { readFileSync } from 'node:fs';
import type { AgentConfigSpec } from '../agent/machine/agent-config.js';
import { areIdsMapped, tenantUser, tenantUsersUsual } from '../agent/machine/tenant-user.js';
import type { UserOf } from '../agent/supervisor/run-spec.js';
import { BerthError } from '../model/errors.js';
import { userNamed } from './user-named.js';

/** What matters of who this process is, and where. */
interface Surroundings {
  readonly isRoot: boolean;
  /** The texts of /proc/self/uid_map and gid_map. */
  readonly idMaps: readonly string[];
}

/**
 * Jobs of an agent that runs as root run as somebody who may do little, and those of two tenants as two, unless its
 * operator says otherwise. Undefined: as whoever the agent runs as.
 */
export function userOfTenants(
  { runAs, tenantUsers }: AgentConfigSpec,
  onProblem: (line: string) => void,
  { isRoot, idMaps }: Surroundings = surroundings(),
): UserOf | undefined {
  if (!isRoot && runAs !== undefined)
    throw wrong(`spec.runAs: ${runAs}: only an agent that runs as root may choose`);
  if (!isRoot && tenantUsers !== undefined)
    throw wrong('spec.tenantUsers: only an agent that runs as root may choose');
  if (runAs !== undefined && tenantUsers !== undefined)
    throw wrong('spec.tenantUsers: not with runAs, which is one user for all tenants');
  if (!isRoot || runAs === 'root') return undefined;
  if (runAs !== undefined) return always(userNamed(runAs));
  const range = tenantUsers ?? tenantUsersUsual;
  if (idMaps.every((map) => areIdsMapped(map, range))) return (tenant) => tenantUser(tenant, range);
  const missing = `there are no users ${range.from} to ${range.from + range.count - 1} on this machine`;
  if (tenantUsers !== undefined) throw wrong(`spec.tenantUsers: ${missing}`);
  onProblem(`${missing} (spec.tenantUsers): jobs of all tenants run as nobody, and are not kept apart`);
  return always(userNamed('nobody'));
}

const surroundings = (): Surroundings => ({
  isRoot: process.getuid?.() === 0,
  idMaps: ['uid_map', 'gid_map'].map((name) => readFileSync(`/proc/self/${name}`, 'utf8')),
});

const always =
  (user: ReturnType<UserOf>): UserOf =>
  () =>
    user;

const wrong = (message: string): BerthError => new BerthError('InvalidAgentConfig', message);

import { readFileSync } from 'node:fs';
import type { AgentConfigSpec } from '../agent/machine/agent-config.js';
import { areIdsMapped, tenantUser, tenantUsersUsual } from '../agent/machine/tenant-user.js';
import type { UserOf } from '../agent/supervisor/run-spec.js';
import { BerthError } from '../model/errors.js';
import { userNamed } from './user-named.js';

/** What matters of who this process is, and where. */
interface Surroundings {
  readonly uid: number | undefined;
  /** The texts of /proc/self/uid_map and gid_map. */
  readonly idMaps: readonly string[];
}

/** Who the processes of tenants run as. */
export interface TenantUsers {
  /** Undefined: as whoever the agent runs as. */
  readonly userOf?: UserOf;
  /** Which user they share, for people; undefined: each tenant has a user of its own, or its operator chose one for all. */
  readonly shared?: string;
}

/** Each tenant has a user of its own where the agent runs as root, unless its operator says otherwise. */
export function userOfTenants(
  { runAs, tenantUsers }: AgentConfigSpec,
  { uid, idMaps }: Surroundings = surroundings(),
): TenantUsers {
  const isRoot = uid === 0;
  if (!isRoot && runAs !== undefined)
    throw wrong(`spec.runAs: ${runAs}: only an agent that runs as root may choose`);
  if (!isRoot && tenantUsers !== undefined)
    throw wrong('spec.tenantUsers: only an agent that runs as root may choose');
  if (runAs !== undefined && tenantUsers !== undefined)
    throw wrong('spec.tenantUsers: not with runAs, which is one user for all tenants');
  if (!isRoot) return { shared: `this user (uid ${uid ?? 'unknown'})` };
  if (runAs === 'root') return {};
  if (runAs !== undefined) return { userOf: always(userNamed(runAs)) };
  const range = tenantUsers ?? tenantUsersUsual;
  if (idMaps.every((map) => areIdsMapped(map, range)))
    return { userOf: (tenant) => tenantUser(tenant, range) };
  const missing = `there are no users ${range.from} to ${range.from + range.count - 1} on this machine`;
  if (tenantUsers !== undefined) throw wrong(`spec.tenantUsers: ${missing}`);
  return { userOf: always(userNamed('nobody')), shared: `user nobody (${missing})` };
}

const surroundings = (): Surroundings => ({
  uid: process.getuid?.(),
  idMaps: ['uid_map', 'gid_map'].map((name) => readFileSync(`/proc/self/${name}`, 'utf8')),
});

const always =
  (user: ReturnType<UserOf>): UserOf =>
  () =>
    user;

const wrong = (message: string): BerthError => new BerthError('InvalidAgentConfig', message);

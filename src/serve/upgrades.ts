import type { Duplex } from 'node:stream';
import type { Env } from '../env/env.js';
import { BerthError } from '../model/errors.js';
import { kindNamed } from '../model/kinds.js';
import { nodeProtocol, nodeStreamPath } from '../model/node-wire.js';
import { attachPath, peerSessionPath, sessionProtocol, type SessionRequest } from '../model/sessions.js';
import type { AuditLog } from './identity/audit-log.js';
import { type Access, authorize } from './identity/authorize.js';
import { formatIdentity, type Identity } from './identity/identity.js';
import type { NodeWire } from './node-wire.js';
import { parseResourcePath } from './resource-path.js';
import type { ConnectedSessions } from './sessions/connected-sessions.js';
import { joinStreams } from './sessions/join-streams.js';
import { execSubresource, hasSessions, type ReplicaSessions } from './sessions/replica-sessions.js';
import { statusOf } from './status.js';

/** A request to go on in both directions, without the HTTP around it. */
export interface UpgradeRequest {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly protocol: string | undefined;
  readonly identity: Identity;
  readonly sourceIP: string;
  /** Whether the connection would still be let in, as whom it was: why not, later on. */
  readonly whyRefusedNow: () => Promise<string | undefined>;
  /** Says yes; the connection is then the caller's. */
  readonly accept: () => Duplex;
}

export interface UpgradesParts {
  readonly nodes: NodeWire;
  /** With nodes that are connected here. */
  readonly connected: ConnectedSessions;
  readonly replicas: ReplicaSessions;
  readonly audit: Pick<AuditLog, 'record'>;
  readonly env: Env;
}

// A terminal that somebody has forgotten. Logs have no such bound: a job may be silent for days.
const idleMsMax = 4 * 3_600_000;

/** Connections that go on in both directions: node streams, and sessions with replicas from both their ends. */
export class Upgrades {
  constructor(private readonly parts: UpgradesParts) {}

  /** Throws before it has accepted, or not at all. */
  async take(request: UpgradeRequest): Promise<void> {
    const { path, protocol } = request;
    if (path === nodeStreamPath && protocol === nodeProtocol) {
      this.#check(request, authorize(request.identity, { verb: 'get', path }));
      return this.parts.nodes.serve(request.accept(), request.identity, request.whyRefusedNow);
    }
    if (protocol !== sessionProtocol)
      throw new BerthError('BadRequest', `${path} is not upgraded to ${String(protocol).slice(0, 100)}`);
    if (path.startsWith(attachPath)) return this.#attach(request, path.slice(attachPath.length));
    if (path.startsWith(peerSessionPath)) return this.#peer(request, path.slice(peerSessionPath.length));
    return this.#exec(request);
  }

  close(): void {
    this.parts.nodes.close();
  }

  /** An agent answers a request that its stream told it of. */
  #attach(request: UpgradeRequest, id: string): void {
    const { identity, path } = request;
    this.#check(request, authorize(identity, { verb: 'get', path }));
    if (identity.kind !== 'node') throw new BerthError('Forbidden', 'only node:NAME answers for a node');
    this.parts.connected.accept(identity.node, id, request.accept);
  }

  /** Another server of the cell has been asked for a node that may be connected here. */
  async #peer(request: UpgradeRequest, node: string): Promise<void> {
    const { identity, path, query } = request;
    this.#check(request, authorize(identity, { verb: 'get', path }));
    // A parsed boundary: only servers of the cell come here, and they have checked it.
    const asked = JSON.parse(
      Buffer.from(query.get('request') ?? '', 'base64url').toString(),
    ) as SessionRequest;
    this.#join(request.accept, await this.parts.connected.open(decodeURIComponent(node), asked));
  }

  async #exec(request: UpgradeRequest): Promise<void> {
    const { identity, path: text, query, sourceIP } = request;
    const path = parseResourcePath(text);
    const kind = kindNamed('Replica');
    if (
      kind === undefined ||
      path?.subresource !== execSubresource ||
      path.plural !== kind.plural ||
      !hasSessions(kind)
    )
      throw new BerthError(
        'NotFound',
        `the server has nothing at ${text} that is upgraded to ${sessionProtocol}`,
      );
    const { namespace = '', name = '' } = path;
    const asked = { verb: 'create', kind, namespace, name, subresource: execSubresource } as const;
    const audited = { ...asked, kind: kind.kind, who: formatIdentity(identity), sourceIP };
    const requestId = this.parts.env.uuid();
    try {
      this.#check(request, authorize(identity, { ...asked, part: 'spec' }));
      const node = await this.parts.replicas.exec(path, query);
      this.parts.audit.record({ ...audited, requestId, outcome: 101 });
      this.#join(request.accept, node);
    } catch (error) {
      this.parts.audit.record({ ...audited, requestId, outcome: statusOf(error).code });
      throw error;
    }
  }

  #join(accept: () => Duplex, node: Duplex): void {
    joinStreams(this.parts.env, accept(), node, idleMsMax);
  }

  #check({ identity }: UpgradeRequest, access: Access): void {
    if (access.allowed) return;
    const code = identity.kind === 'anonymous' ? 'Unauthorized' : 'Forbidden';
    throw new BerthError(code, `${formatIdentity(identity)} may not do this: ${access.reason}`);
  }
}

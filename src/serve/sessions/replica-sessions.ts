import type { Duplex } from 'node:stream';
import { BerthError } from '../../model/errors.js';
import type { Node } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Objects } from '../../model/ports.js';
import { refOf } from '../../model/replica-ref.js';
import type { NodeSessions } from '../../model/sessions.js';
import type { ApiRequest, ApiResponse } from '../api-request.js';
import type { ResourcePath } from '../resource-path.js';
import { logLines } from './log-lines.js';
import { execOptionsOf, logOptionsOf } from './session-options.js';

/** The subresources of a replica that are answered by its node. */
export const logSubresource = 'log';
export const execSubresource = 'exec';

export const hasSessions = (kind: { readonly kind: string }): boolean => kind.kind === 'Replica';

/** Logs of replicas, and commands beside them, wherever they are. */
export class ReplicaSessions {
  constructor(private readonly parts: { readonly objects: Objects; readonly sessions: NodeSessions }) {}

  async log(request: ApiRequest, path: ResourcePath): Promise<ApiResponse> {
    const { options, format } = logOptionsOf(request.query);
    const { node, replica } = this.#find(path);
    const socket = await this.parts.sessions.open(node, { kind: 'log', replica, options });
    const lines = await logLines(socket, format, request.signal);
    const contentType = format === 'json' ? 'application/x-ndjson' : 'text/plain; charset=utf-8';
    return { kind: 'lines', lines, contentType };
  }

  /** A connection that speaks the frames of a session. */
  exec(path: ResourcePath, query: URLSearchParams): Promise<Duplex> {
    const options = execOptionsOf(query);
    const { node, replica } = this.#find(path);
    return this.parts.sessions.open(node, { kind: 'exec', replica, ...options });
  }

  #find({ namespace = '', name = '' }: ResourcePath): {
    node: string;
    replica: ReturnType<typeof refOf>;
  } {
    const { objects } = this.parts;
    const replica = objects.get<Replica>('Replica', namespace, name);
    if (replica === undefined)
      throw new BerthError('NotFound', `replica ${JSON.stringify(name)} not found in namespace ${namespace}`);
    const node = replica.status?.binding?.node;
    if (node === undefined)
      throw new BerthError(
        'NotFound',
        `replica ${name} is on no node (${replica.status?.stage ?? 'Admitted'}): berth why replica/${name} says what it waits for`,
      );
    const drivers = objects.get<Node>('Node', undefined, node)?.status?.agent?.drivers;
    if (drivers?.length === 1 && drivers[0] === 'hollow')
      throw new BerthError('NotFound', `node ${node} is hollow: nothing runs there`);
    return { node, replica: refOf(replica) };
  }
}

import type { Duplex } from 'node:stream';
import { isBerthError } from '../model/errors.js';
import {
  type NodeSessions,
  peerSessionPath,
  sessionProtocol,
  type SessionRequest,
} from '../model/sessions.js';
import type { OtherServer } from '../objects/decisions/shared-decisions.js';
import type { PeerClients } from './peer-clients.js';

export interface CellSessionsParts {
  readonly here: NodeSessions;
  readonly others: () => Promise<readonly OtherServer[]>;
  readonly peers: Pick<PeerClients, 'at'>;
}

/** Sessions with all nodes of the cell: a node that is not connected here may be with another server, which then passes it on. */
export class CellSessions implements NodeSessions {
  constructor(private readonly parts: CellSessionsParts) {}

  async open(node: string, request: SessionRequest): Promise<Duplex> {
    try {
      return await this.parts.here.open(node, request);
    } catch (error) {
      if (!isBerthError(error, 'NodeNotConnected')) throw error;
      const elsewhere = await this.#elsewhere(node, request);
      if (elsewhere === undefined) throw error;
      return elsewhere;
    }
  }

  /** All are asked at once, because a server that is gone takes long to say nothing. A node has its stream with one. */
  async #elsewhere(node: string, request: SessionRequest): Promise<Duplex | undefined> {
    const others = await this.parts.others();
    const asked = others.flatMap(({ address }) =>
      address === undefined ? [] : [this.#ask(address, node, request)],
    );
    const first = await Promise.any(asked).catch(() => undefined);
    for (const each of asked)
      void each.then(
        (socket) => socket !== first && socket.destroy(),
        () => undefined,
      );
    return first;
  }

  async #ask(address: string, node: string, request: SessionRequest): Promise<Duplex> {
    const client = await this.parts.peers.at(address);
    const query = new URLSearchParams({
      request: Buffer.from(JSON.stringify(request)).toString('base64url'),
    });
    return client.upgrade(`${peerSessionPath}${encodeURIComponent(node)}`, query, sessionProtocol);
  }
}

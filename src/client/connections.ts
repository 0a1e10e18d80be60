import type { ClientRequest } from 'node:http';
import { Agent, type RequestOptions } from 'node:https';
import type { Duplex } from 'node:stream';

/**
 * Node's own pool of TLS connections, which also says what can have left this machine. Node's agent and not a
 * package: it resends nothing, it takes upgrades, and `berth get` loads it anyway.
 */
export class Connections extends Agent {
  // Connections whose TLS handshake is done, which is before Node writes the first byte of a request. This is noted when a
  // connection is made, because a request that gets a used connection sees no handshake.
  readonly #open = new WeakSet<Duplex>();

  override createConnection(options: RequestOptions): Duplex | null | undefined {
    const socket = super.createConnection(options);
    socket?.once('secureConnect', () => this.#open.add(socket));
    return socket;
  }

  /**
   * Whether a byte of the request may have reached the server. False is certain: the request has no connection yet, or one
   * whose handshake is not done.
   */
  mayHaveSent({ socket }: ClientRequest): boolean {
    return socket !== null && this.#open.has(socket);
  }
}

import { type Duplex, duplexPair } from 'node:stream';
import type { Env } from '../../env/env.js';
import { BerthError } from '../../model/errors.js';
import type { NodeSessions, SessionDial, SessionRequest } from '../../model/sessions.js';

export interface ConnectedSessionsParts {
  readonly env: Env;
  /** Tells a node to answer under this id; false if it has no stream here. */
  readonly tell: (node: string, id: string, request: SessionRequest) => boolean;
  /** When its lease was last renewed, for people. */
  readonly lastRenewedAt: (node: string) => string | undefined;
}

interface Waiting {
  readonly node: string;
  answered(socket: Duplex): void;
}

// An agent that hears its stream answers at once; one that does not is told of as not connected.
export const answerMs = 10_000;
const openMax = 500;
const openPerNodeMax = 50;

/**
 * Sessions with nodes whose streams this server has. Nodes are never dialled, so that they may be behind anything: the
 * stream tells the agent of the request, and the agent opens a connection for it, under an id that serves once.
 */
export class ConnectedSessions implements NodeSessions, SessionDial {
  readonly #waiting = new Map<string, Waiting>();
  readonly #openOn = new Map<string, number>();
  #open = 0;

  constructor(private readonly parts: ConnectedSessionsParts) {}

  get count(): number {
    return this.#open;
  }

  async open(node: string, request: SessionRequest): Promise<Duplex> {
    const onNode = this.#openOn.get(node) ?? 0;
    if (this.#open >= openMax || onNode >= openPerNodeMax) {
      const many = onNode >= openPerNodeMax ? `${onNode} of node ${node}` : this.#open;
      throw new BerthError('TooManyRequests', `${many} sessions are open; try again later`);
    }
    this.#count(node, 1);
    try {
      const socket = await this.#answer(node, request);
      socket.once('close', () => this.#count(node, -1));
      return socket;
    } catch (error) {
      this.#count(node, -1);
      throw error;
    }
  }

  /** An agent answers, on a connection of its own. Who it is has been looked at. */
  accept(node: string, id: string, open: () => Duplex): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined || waiting.node !== node)
      throw new BerthError('NotFound', 'nobody waits for this session any more');
    this.#waiting.delete(id);
    waiting.answered(open());
  }

  /** For an agent in the same process. */
  dial(node: string, id: string): Promise<Duplex> {
    const [here, there] = duplexPair();
    // As the two ends of a connection do: a pair by itself does not pass on that one of them is gone.
    here.once('close', () => there.destroy());
    there.once('close', () => here.destroy());
    return new Promise((resolve) => {
      this.accept(node, id, () => here);
      resolve(there);
    });
  }

  #answer(node: string, request: SessionRequest): Promise<Duplex> {
    const { env, tell } = this.parts;
    const id = env.secret(24).toString('base64url');
    return new Promise((resolve, reject) => {
      const timer = env.after(answerMs, () => {
        this.#waiting.delete(id);
        reject(this.#notConnected(node, `its agent has not answered for ${answerMs / 1_000} s`));
      });
      this.#waiting.set(id, {
        node,
        answered: (socket) => {
          timer.cancel();
          resolve(socket);
        },
      });
      if (tell(node, id, request)) return;
      timer.cancel();
      this.#waiting.delete(id);
      reject(this.#notConnected(node, 'its agent is not connected'));
    });
  }

  #notConnected(node: string, why: string): BerthError {
    const at = this.parts.lastRenewedAt(node);
    const since = at === undefined ? 'it has never been heard of' : `it was last heard of at ${at}`;
    return new BerthError('NodeNotConnected', `node ${node} cannot be reached: ${why}; ${since}`);
  }

  #count(node: string, change: number): void {
    this.#open += change;
    const left = (this.#openOn.get(node) ?? 0) + change;
    if (left > 0) this.#openOn.set(node, left);
    else this.#openOn.delete(node);
  }
}

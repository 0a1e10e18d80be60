import { BerthError } from '../model/errors.js';
import { ConnectionError } from './connection-error.js';
import { isHttpsUrl } from './is-https-url.js';
import type { ServerAccess } from './kubeconfig.js';

// A cell has few servers. Each entry can cost a connection attempt before a request fails.
const serversMax = 32;
const connectMsUsual = 3_000;

/** How one server was tried: it answered, or no request can have reached it. */
export type Tried<T> =
  | { readonly kind: 'answered'; readonly value: T }
  | { readonly kind: 'gone'; readonly error: ConnectionError };

/** A server of the list when its turn comes. */
export interface ServerInTurn {
  readonly url: string;
  /** How long the connection may take: bounded while another server is left to try. */
  readonly connectMsMax: number;
}

/**
 * The servers of one cell, in the order they are tried. Everything that shares the list uses the same server until
 * that server fails, and then the one after it.
 */
export class ServerList {
  #at = 0;

  constructor(readonly urls: readonly string[]) {
    if (urls.length === 0) throw new BerthError('InvalidKubeconfig', 'no server is named');
  }

  static of({ url, otherUrls = [] }: ServerAccess): ServerList {
    return new ServerList([...new Set([url, ...otherUrls])]);
  }

  get current(): string {
    return this.urls[this.#at] ?? '';
  }

  /** Moves on from a server that failed, unless somebody else has moved on from it already. */
  leave(url: string): void {
    if (url === this.current) this.#at = (this.#at + 1) % this.urls.length;
  }

  /** Every server once, the current one first. */
  inTurn(): readonly string[] {
    return [...this.urls.slice(this.#at), ...this.urls.slice(0, this.#at)];
  }

  /**
   * Tries one server after the other, each at most once, until one answers. An error that `attempt` throws is the
   * answer of a server and ends the round. When every server is gone, or `mayGoOn` says no, the error names all that were tried.
   */
  async reach<T>(
    attempt: (server: ServerInTurn) => Promise<Tried<T>>,
    mayGoOn: () => boolean = () => true,
  ): Promise<T> {
    const gone: ConnectionError[] = [];
    const order = this.inTurn();
    for (const [index, url] of order.entries()) {
      const isLast = index === order.length - 1;
      const tried = await attempt({ url, connectMsMax: isLast ? Infinity : connectMsUsual });
      if (tried.kind === 'answered') return tried.value;
      this.leave(url);
      gone.push(tried.error);
      if (!mayGoOn()) break;
    }
    throw allGone(gone);
  }
}

function allGone(gone: readonly ConnectionError[]): ConnectionError {
  const [first] = gone;
  if (first !== undefined && gone.length === 1) return first;
  // A server that cannot be reached may come back. A server with another certificate stays what it is.
  const isDistrusted = gone.every(({ code }) => code === 'CertificateUnusable');
  return new ConnectionError(
    isDistrusted ? 'CertificateUnusable' : 'ServerUnreachable',
    gone.map(({ message }) => message).join('; '),
    gone.flatMap(({ servers }) => servers),
    gone.at(-1),
  );
}

/** The same access at other servers. */
export function atServers(
  access: ServerAccess,
  [url = access.url, ...otherUrls]: readonly string[],
): ServerAccess {
  return { ...access, url, otherUrls };
}

/** Reads `URL[,URL…]`. Throws what is wrong with it, as a sentence. */
export function parseServers(text: string): readonly string[] {
  const urls = [...new Set(text.split(',').map((url) => url.trim()))];
  if (urls.length > serversMax)
    throw new Error(`${urls.length} servers are named; at most ${serversMax} are possible.`);
  for (const url of urls)
    if (!isHttpsUrl(url)) throw new Error(`${JSON.stringify(url)} is not an https URL.`);
  return urls;
}

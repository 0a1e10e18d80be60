import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { type Agent, createServer as createTlsServer, request as httpsRequest } from 'node:https';

/**
 * A proxy in front of a server, for clients that follow a kind. Each client has an address of its own, `url/INDEX`. The
 * first watch of each address is cut after a number of bytes that the test says; all else passes.
 */
export interface CuttingProxy {
  readonly url: string;
  /** How many first watches have begun. */
  readonly watches: number;
  /** How many were cut. */
  readonly cuts: number;
  close(): Promise<void>;
}

/**
 * Told the lines of changes that a first watch brought so far; answers after how many of their bytes it is cut, or
 * undefined: there are too few lines yet to say so. Until then the proxy passes on no byte of the watch.
 */
export type CutAfter = (index: number, lines: readonly string[]) => number | undefined;

const initialEnd = 'k8s.io/initial-events-end';

export async function startCuttingProxy(
  target: { readonly url: string; readonly agent: Agent },
  cutAfter: CutAfter,
  /** Plain HTTP if left out. */
  tls?: { readonly cert: Buffer; readonly key: Buffer },
): Promise<CuttingProxy> {
  const begun = new Set<number>();
  let cuts = 0;
  const listener: RequestListener = (asked, answer) => {
    const [, index = '', path = '/'] = /^\/(\d+)(\/.*)$/.exec(asked.url ?? '') ?? [];
    const { method, headers } = asked;
    const forwarded = httpsRequest(target.url, {
      ...{ agent: target.agent, method, path },
      headers: { ...headers, host: new URL(target.url).host },
    });
    forwarded.on('error', () => answer.destroy());
    answer.on('close', () => forwarded.destroy());
    asked.pipe(forwarded);
    const isFirst = /[?&]watch=/.test(path) && !begun.has(Number(index));
    if (isFirst) begun.add(Number(index));
    forwarded.on('response', (answered) => {
      answer.writeHead(answered.statusCode ?? 500, answered.headers);
      if (isFirst) pass(answered, answer, Number(index));
      else answered.pipe(answer);
    });
  };
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);

  /** Holds a watch back until it is known where it is cut, passes so many bytes and ends the connection. */
  function pass(answered: IncomingMessage, answer: ServerResponse, index: number): void {
    answer.flushHeaders();
    let held = Buffer.alloc(0);
    answered.on('error', () => answer.destroy());
    answered.on('data', (chunk: Buffer) => {
      held = Buffer.concat([held, chunk]);
      const initial = held.indexOf(initialEnd);
      const from = initial < 0 ? 0 : held.indexOf('\n', initial) + 1;
      const lines = held.subarray(from).toString().split('\n').slice(0, -1);
      const bytes = cutAfter(index, lines);
      if (bytes === undefined) return;
      cuts += 1;
      answered.destroy();
      answer.write(held.subarray(0, from + bytes), () => answer.socket?.destroySoon());
    });
  }

  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${address.port}`,
    get watches() {
      return begun.size;
    },
    get cuts() {
      return cuts;
    },
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}

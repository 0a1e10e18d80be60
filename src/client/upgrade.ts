import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Duplex } from 'node:stream';
import type { Env } from '../env/env.js';
import { BerthError } from '../model/errors.js';
import type { ServerAccess } from './kubeconfig.js';
import { errorOfAnswer } from './status-error.js';
import { readAnswer } from './transport.js';

export interface Upgrade {
  /** With its query. */
  readonly path: string;
  readonly protocol: string;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

// So that the end of a silent server is noticed.
const probeAfterMs = 15_000;

/** A connection to a server that goes on in both directions, once it has agreed to the protocol. */
export function upgrade(env: Env, access: ServerAccess, wanted: Upgrade): Promise<Duplex> {
  const { url, ca, cert, key, token } = access;
  const { path, protocol, timeoutMs, signal } = wanted;
  const prefix = new URL(url).pathname.replace(/\/$/, '');
  return new Promise((resolve, reject) => {
    const request = httpsRequest(url, {
      path: `${prefix}${path}`,
      agent: false,
      ...(ca !== undefined && { ca }),
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key }),
      headers: {
        connection: 'Upgrade',
        upgrade: protocol,
        'user-agent': 'berth',
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
    });
    const timer = env.after(timeoutMs, () => request.destroy(new Error(`${url} does not answer`)));
    const giveUp = (): void => void request.destroy(new Error('the caller has given up'));
    signal?.addEventListener('abort', giveUp, { once: true });
    if (signal?.aborted === true) giveUp();
    const settle = (): void => {
      timer.cancel();
      signal?.removeEventListener('abort', giveUp);
    };
    request.once('upgrade', (response: IncomingMessage, socket: Duplex, head: Buffer) => {
      settle();
      // What reads it sees the error.
      socket.on('error', () => undefined);
      response.socket.setKeepAlive(true, probeAfterMs);
      if (head.length > 0) socket.unshift(head);
      resolve(socket);
    });
    request.once('response', (response) => {
      settle();
      void readAnswer(response).then(
        (answer) => reject(errorOfAnswer(response.statusCode ?? 0, answer)),
        reject,
      );
    });
    request.once('error', (error) => {
      settle();
      reject(new BerthError('ServerUnreachable', `${url}: ${error.message}`, { cause: error }));
    });
    request.end();
  });
}

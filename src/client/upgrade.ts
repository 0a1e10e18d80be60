import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Duplex } from 'node:stream';
import type { Env, Timer } from '../env/env.js';
import { BerthError } from '../model/errors.js';
import { connectionError, tooSlow } from './connection-error.js';
import type { ServerAccess } from './kubeconfig.js';
import type { Tried } from './server-list.js';
import { errorOfAnswer } from './status-error.js';
import { readAnswer } from './transport.js';

export interface Upgrade {
  /** With its query. */
  readonly path: string;
  readonly protocol: string;
  readonly timeoutMs: number;
  /** How long the connection may take of that, if less. */
  readonly connectMsMax?: number;
  readonly signal?: AbortSignal | undefined;
}

// So that the end of a silent server is noticed.
const probeAfterMs = 15_000;

/** A connection to one server that goes on in both directions, once the server has agreed to the protocol. */
export async function upgrade(env: Env, access: ServerAccess, wanted: Upgrade): Promise<Duplex> {
  const tried = await tryUpgrade(env, access, wanted);
  if (tried.kind === 'gone') throw tried.error;
  return tried.value;
}

/** The same, for a caller that has other servers to try. */
export function tryUpgrade(env: Env, access: ServerAccess, wanted: Upgrade): Promise<Tried<Duplex>> {
  const { url, ca, cert, key, token } = access;
  const { path, protocol, timeoutMs, connectMsMax = Infinity, signal } = wanted;
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
    const giveUpAfter = (ms: number, what: string): Timer =>
      env.after(ms, () => request.destroy(tooSlow(what, ms)));
    const timer = giveUpAfter(timeoutMs, 'answer');
    const connecting = connectMsMax < timeoutMs ? giveUpAfter(connectMsMax, 'connection') : undefined;
    // Invariant: nothing of the request is sent before the handshake is done.
    let mayHaveSent = false;
    request.once('socket', (socket) =>
      socket.once('secureConnect', () => {
        mayHaveSent = true;
        connecting?.cancel();
      }),
    );
    const giveUp = (): void => void request.destroy(new Error('the caller has given up'));
    signal?.addEventListener('abort', giveUp, { once: true });
    if (signal?.aborted === true) giveUp();
    const settle = (): void => {
      timer.cancel();
      connecting?.cancel();
      signal?.removeEventListener('abort', giveUp);
    };
    request.once('upgrade', (response: IncomingMessage, socket: Duplex, head: Buffer) => {
      settle();
      // What reads it sees the error.
      socket.on('error', () => undefined);
      response.socket.setKeepAlive(true, probeAfterMs);
      if (head.length > 0) socket.unshift(head);
      resolve({ kind: 'answered', value: socket });
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
      if (mayHaveSent) {
        const message = `${url} was asked and its answer was lost: ${error.message}`;
        reject(new BerthError('UnknownOutcome', message, { cause: error }));
      } else resolve({ kind: 'gone', error: connectionError(url, url, error) });
    });
    request.end();
  });
}

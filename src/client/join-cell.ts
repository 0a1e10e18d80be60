import { request as httpsRequest } from 'node:https';
import type { Env } from '../env/env.js';
import { pinOf, splitJoinToken } from '../model/authority-pin.js';
import { BerthError } from '../model/errors.js';
import {
  authorityPath,
  joinPath,
  type JoinRequest,
  type NodeCredentials,
  renewPath,
} from '../model/node-wire.js';
import { connectionError, tooSlow } from './connection-error.js';
import type { ServerAccess } from './kubeconfig.js';
import { errorOfAnswer } from './status-error.js';
import { readAnswer, Transport } from './transport.js';

const timeoutMs = 30_000;

/**
 * Asks one server to let a machine become a node. The CA is the one given, or the one that the token is pinned to:
 * nothing secret is sent before the server has proved by it who it is.
 */
export async function joinCell(
  env: Env,
  url: string,
  joinToken: string,
  ca: string | undefined,
  ask: JoinRequest,
): Promise<NodeCredentials> {
  const { token, pin } = splitJoinToken(joinToken);
  const trusted = ca ?? (await pinnedAuthority(env, url, pin));
  return post(env, { ...nobody, url, ca: trusted, token }, joinPath, ask);
}

/** Asks one server for the next certificate of a node, as that node. */
export const renewNode = (env: Env, access: ServerAccess, request: string): Promise<NodeCredentials> =>
  post(env, access, renewPath, { request });

export const nobody: ServerAccess = {
  ...{ url: '', ca: undefined, cert: undefined, key: undefined, token: undefined, namespace: 'default' },
};

async function post(env: Env, access: ServerAccess, path: string, body: object): Promise<NodeCredentials> {
  const transport = new Transport({ access, env });
  try {
    // A parsed boundary: a server whose certificate is trusted.
    return (await transport.send({
      ...{ method: 'POST', path, body: JSON.stringify(body), timeoutMs },
    })) as NodeCredentials;
  } finally {
    transport.close();
  }
}

/** The CA as the server shows it to anybody, if it is the one that the pin stands for. */
async function pinnedAuthority(env: Env, url: string, pin: string | undefined): Promise<string> {
  if (pin === undefined)
    throw new BerthError(
      'CertificateUnusable',
      'the token does not say what the CA of the server is known by: give --ca with its certificate',
    );
  const { authority } = await shownAuthority(env, url);
  let found: string | undefined;
  try {
    found = typeof authority === 'string' ? pinOf(authority) : undefined;
  } catch {
    // Not a certificate: as good as another one.
  }
  if (found === pin && typeof authority === 'string') return authority;
  throw new BerthError(
    'CertificateUnusable',
    `${url} shows another CA than the token was made for: it is not that server`,
  );
}

function shownAuthority(env: Env, url: string): Promise<{ readonly authority?: unknown }> {
  const prefix = new URL(url).pathname.replace(/\/$/, '');
  return new Promise((resolve, reject) => {
    // Whatever answers here is believed nothing: what it shows is compared with the pin.
    const request = httpsRequest(url, {
      ...{ path: `${prefix}${authorityPath}`, agent: false, rejectUnauthorized: false },
    });
    const timer = env.after(timeoutMs, () => request.destroy(tooSlow('answer', timeoutMs)));
    request.once('response', (response) => {
      timer.cancel();
      readAnswer(response).then((answer) => {
        const status = response.statusCode ?? 0;
        if (status !== 200 || typeof answer !== 'object' || answer === null)
          reject(errorOfAnswer(status, answer));
        else resolve(answer);
      }, reject);
    });
    request.once('error', (cause) => {
      timer.cancel();
      reject(connectionError(url, url, cause));
    });
    request.end();
  });
}

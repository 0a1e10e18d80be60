import { isIP } from 'node:net';
import { BerthError, type ErrorCode } from '../model/errors.js';

/** A server that could not be used: why not, and what a person can check. */
export interface FailedServer {
  readonly url: string;
  readonly reason: string;
  readonly check: string;
}

/** No server of a cell could be used: there was no connection, or the connection broke before an answer came. */
export class ConnectionError extends BerthError {
  constructor(
    code: Extract<ErrorCode, 'ServerUnreachable' | 'CertificateUnusable'>,
    message: string,
    readonly servers: readonly FailedServer[],
    cause: unknown,
  ) {
    super(code, message, { cause });
  }
}

/** An error of our own for a server that is too slow, with the code that the kernel gives such an error. */
export const tooSlow = (what: string, ms: number): Error =>
  Object.assign(new Error(`no ${what} within ${ms < 1_000 ? `${ms}ms` : `${ms / 1_000}s`}`), {
    code: 'ETIMEDOUT',
  });

const badCertificate = /^(CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_CERT_|HOSTNAME_MISMATCH)/;

/** The error for one server. `what` says which request it was. */
export function connectionError(url: string, what: string, cause: unknown): ConnectionError {
  const { code = '' } = cause as NodeJS.ErrnoException;
  const message = cause instanceof Error ? cause.message : String(cause);
  const failed = (reason: string, check: string): readonly FailedServer[] => [{ url, reason, check }];
  if (badCertificate.test(code)) {
    const servers = failed(message, certificateCheck(url, code));
    return new ConnectionError('CertificateUnusable', `${url} is not trusted: ${message}`, servers, cause);
  }
  const { reason, check } = explained(url, code, message || code);
  return new ConnectionError('ServerUnreachable', `${what}: ${reason}`, failed(reason, check), cause);
}

function explained(url: string, code: string, message: string): { reason: string; check: string } {
  const host = hostOf(url);
  const port = new URL(url).port || '443';
  switch (code) {
    case 'ECONNREFUSED':
      return {
        reason: 'connection refused',
        check: `check that a server runs on ${host} and listens on port ${port} of that address`,
      };
    case 'ETIMEDOUT':
      return {
        reason: message.startsWith('no ') ? message : 'connection timed out',
        check: `check that ${host} is up and that no firewall drops packets to port ${port}`,
      };
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return { reason: `no route to ${host}`, check: 'check the network of this machine' };
    case 'ENOTFOUND':
      return { reason: `DNS does not know the name ${host}`, check: 'check how the name is spelled' };
    case 'EAI_AGAIN':
      return {
        reason: `DNS does not answer for the name ${host}`,
        check: 'check the DNS settings of this machine',
      };
    case 'EPROTO':
    case 'ERR_SSL_WRONG_VERSION_NUMBER':
      return {
        reason: `the process that listens on port ${port} of ${host} does not speak TLS`,
        check: 'check the port',
      };
    default:
      return { reason: message, check: `check the log of the server on ${host}` };
  }
}

function certificateCheck(url: string, code: string): string {
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `use a name that its certificate has, or start the server with --host ${hostOf(url)}`;
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID')
    return 'check the clocks of both machines';
  return 'check that the CA is that of this cell: the server may have been set up anew since the kubeconfig was written';
}

function hostOf(url: string): string {
  const { hostname } = new URL(url);
  return hostname.replace(/^\[|\]$/g, '');
}

/** Whether a server is on this machine by its name. */
export function isLoopback(url: string): boolean {
  const host = hostOf(url);
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

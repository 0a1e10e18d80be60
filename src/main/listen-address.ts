import { isIP } from 'node:net';
import { BerthError } from '../model/errors.js';

/** Where a server listens. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** Reads ADDRESS:PORT, an IPv6 address in brackets: 127.0.0.1:7443, [::1]:7443, 0.0.0.0:0. */
export function parseListenAddress(text: string): ListenAddress {
  const [, bracketed, plain, port = ''] = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text) ?? [];
  const isFine = bracketed === undefined ? isIP(plain ?? '') === 4 : isIP(bracketed) === 6;
  if (!isFine || Number(port) > 65_535) {
    throw new BerthError(
      'InvalidHost',
      `${JSON.stringify(text)} is not where a server can listen: write ADDRESS:PORT with an IP address, 127.0.0.1:7443 or [::1]:7443`,
    );
  }
  return { host: bracketed ?? plain ?? '', port: Number(port) };
}

/** Listening on these means on every address of the machine: clients cannot connect to one of them. */
export const isEveryAddress = (host: string): boolean => host === '0.0.0.0' || host === '::';

export const httpsUrl = (host: string, port: number): string =>
  `https://${isIP(host) === 6 ? `[${host}]` : host}:${port}`;

import { describe, expect, it } from 'vitest';
import { type ConnectionError, connectionError } from '../client/connection-error.js';
import { ServerList } from '../client/server-list.js';
import { BerthError } from '../model/errors.js';
import { CommandFailure, usageFailure } from './command-failure.js';
import { describeError, exitCodeOf } from './report-failure.js';

describe('what the shell is told of an error', () => {
  it.each([
    { error: new BerthError('ServerUnreachable', ''), code: 69 },
    { error: new BerthError('Forbidden', ''), code: 77 },
    { error: new BerthError('Unauthorized', ''), code: 77 },
    { error: new BerthError('UnknownOutcome', ''), code: 3 },
    { error: new BerthError('InvalidKubeconfig', ''), code: 64 },
    { error: new BerthError('Invalid', ''), code: 1 },
    { error: usageFailure(''), code: 64 },
    { error: new CommandFailure(4, ''), code: 4 },
    { error: new Error('x'), code: 1 },
  ])('$code for $error.code$error.name', ({ error, code }) => {
    expect(exitCodeOf(error)).toBe(code);
  });

  const failing = (url: string, code: string, message = ''): ConnectionError =>
    connectionError(url, `GET ${url}/x`, Object.assign(new Error(message), { code }));
  const described = (...failed: readonly ConnectionError[]): Promise<string> =>
    new ServerList(failed.map(({ servers }) => servers[0]?.url ?? ''))
      .reach<string>(({ url }) => {
        const error = failed.find(({ servers }) => servers[0]?.url === url);
        if (error === undefined) throw new Error(url);
        return Promise.resolve({ kind: 'gone', error });
      })
      .catch((cause: unknown) => {
        const again = new BerthError('ServerUnreachable', 'after 3 attempts', { cause });
        return describeError(again, { urls: [], configPath: 'k' });
      });

  it.each([
    ['https://127.0.0.1:1', 'ECONNREFUSED', 'connection refused; start one with: berth up'],
    ['https://[::1]:1', 'ECONNREFUSED', 'connection refused; start one with: berth up'],
    ['https://localhost:1', 'ECONNREFUSED', 'connection refused; start one with: berth up'],
    [
      'https://10.0.0.1:7443',
      'ECONNREFUSED',
      'connection refused; check that a server runs on 10.0.0.1 and listens on port 7443 of that address',
    ],
    [
      'https://h:1',
      'ETIMEDOUT',
      'connection timed out; check that h is up and that no firewall drops packets to port 1',
    ],
    ['https://h:1', 'EHOSTUNREACH', 'no route to h; check the network of this machine'],
    ['https://h:1', 'ENOTFOUND', 'DNS does not know the name h; check how the name is spelled'],
    [
      'https://h:1',
      'EAI_AGAIN',
      'DNS does not answer for the name h; check the DNS settings of this machine',
    ],
    ['https://h', 'EPROTO', 'the process that listens on port 443 of h does not speak TLS; check the port'],
  ])('names %s, its source, and for %s the reason and what to check', async (url, code, says) => {
    expect(await described(failing(url, code))).toBe(`no server answers at ${url} (from k): ${says}`);
  });

  it('gives the advice to start a server for this machine alone', async () => {
    for (const code of ['ECONNREFUSED', 'ETIMEDOUT', 'ENOTFOUND', 'ECONNRESET'])
      expect(await described(failing('https://berth.example:7443', code, 'm'))).not.toContain('berth up');
  });

  it('names the reason for which a certificate is not trusted', async () => {
    expect(
      await described(failing('https://h:1', 'ERR_TLS_CERT_ALTNAME_INVALID', 'h is not in the list')),
    ).toBe(
      'the certificate is not trusted at https://h:1 (from k): h is not in the list; use a name that its certificate has, or start the server with --host h',
    );
  });

  it('names every server of several', async () => {
    const failed = [failing('https://a:1', 'ECONNREFUSED'), failing('https://b:1', 'ENOTFOUND')];
    expect(await described(...failed)).toBe(
      'none of 2 servers can be used (from k): https://a:1: connection refused; https://b:1: DNS does not know the name b',
    );
  });
});

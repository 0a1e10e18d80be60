import { X509Certificate } from 'node:crypto';
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { scratchDirectory } from '../../../testing/scratch.js';
import { plusMs } from '../../env/instant.js';
import { realEnv } from '../../env/real.js';
import { coversHost } from './authority-certificate.js';
import { CertificateStore, secureContextOf } from './certificate-store.js';

const dayMs = 86_400_000;
const env = realEnv();
let scratch: ReturnType<typeof scratchDirectory>;
beforeEach(() => {
  scratch = scratchDirectory('pki');
});
afterEach(() => scratch.remove());

const open = (hosts: readonly string[] = []): Promise<CertificateStore> =>
  CertificateStore.open({ dir: scratch.path, env, hosts });
const file = (name: string): string => join(scratch.path, 'pki', name);
const contents = (): Record<string, string> =>
  Object.fromEntries(
    readdirSync(file('.')).map((name) => [
      name,
      statSync(file(name)).isFile() ? readFileSync(file(name), 'utf8') : '',
    ]),
  );
const inDays = (days: number) => plusMs(env.clock.wall(), days * dayMs);

describe('the certificates of a directory', () => {
  it('are made once, for the owner’s eyes only, and then loaded', async () => {
    const made = await open();
    expect(statSync(file('.')).mode & 0o777).toBe(0o700);
    expect(readdirSync(file('.'))).toEqual(['ca.pem', 'server.pem']);
    for (const name of ['ca.pem', 'server.pem']) expect(statSync(file(name)).mode & 0o777).toBe(0o600);
    const before = contents();
    const loaded = await open();
    expect(loaded.server).toEqual(made.server);
    expect(loaded.authority.certificatePem).toBe(made.authority.certificatePem);
    expect(contents()).toEqual(before);
  });

  it('get a new server certificate, under the same CA, for a host that is new', async () => {
    const before = await open();
    const after = await open(['berth.example']);
    expect(after.authority.certificatePem).toBe(before.authority.certificatePem);
    expect(coversHost(before.server.certificatePem, 'berth.example')).toBe(false);
    expect(coversHost(after.server.certificatePem, 'berth.example')).toBe(true);
    expect((await open()).server).toEqual(after.server);
  });

  it('survive a crash between the two files, and one in the middle of a write', async () => {
    const first = await open();
    rmSync(file('server.pem'));
    writeFileSync(file('server.pem.new'), 'half a certif');
    const again = await open();
    expect(again.authority.certificatePem).toBe(first.authority.certificatePem);
    expect(readdirSync(file('.'))).toEqual(['ca.pem', 'server.pem']);
  });
});

describe('renewal', () => {
  it('happens with a third of the lifetime left, once for calls at the same time', async () => {
    const store = await open(['berth.example']);
    const first = store.server;
    const heard: string[] = [];
    const listening = store.onRenewed((pair) => heard.push(pair.certificatePem));
    expect(await store.renewIfDue(inDays(59))).toBe(false);
    expect(store.server).toBe(first);
    expect(await Promise.all([store.renewIfDue(inDays(61)), store.renewIfDue(inDays(61))])).toEqual([
      true,
      true,
    ]);
    expect(heard).toEqual([store.server.certificatePem]);
    expect(store.server.certificatePem).not.toBe(first.certificatePem);
    expect(coversHost(store.server.certificatePem, 'berth.example')).toBe(true);
    expect((await open()).server).toEqual(store.server);
    listening.stop();
    await store.renewIfDue(inDays(61));
    expect(heard).toHaveLength(1);
  });

  it('that cannot be stored keeps the old certificate in use, says why, and is tried again', async () => {
    const store = await open();
    const { server } = store;
    mkdirSync(file('server.pem.new'));
    await expect(store.renewIfDue(inDays(61))).rejects.toMatchObject({
      code: 'CertificateUnusable',
      message: expect.stringContaining(file('server.pem')) as string,
    });
    expect(store.server).toBe(server);
    rmSync(file('server.pem.new'), { recursive: true });
    expect(await store.renewIfDue(inDays(61))).toBe(true);
  });

  it('is refused once the CA itself has expired', async () => {
    await expect((await open()).renewIfDue(inDays(3651))).rejects.toThrow(
      'ca.pem cannot be used: the CA expired at',
    );
  });

  it('reaches a running TLS server, and does not disturb who is connected', async () => {
    const store = await open();
    const server = createServer(secureContextOf(store), (socket) => socket.pipe(socket));
    store.onRenewed(() => server.setSecureContext(secureContextOf(store)));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const sockets: TLSSocket[] = [];
    const connection = async (): Promise<TLSSocket> => {
      const { port } = server.address() as AddressInfo;
      const socket = connect({ port, host: '127.0.0.1', ca: store.authority.certificatePem });
      sockets.push(socket);
      await new Promise<void>((resolve, reject) => {
        socket.once('secureConnect', resolve);
        socket.once('error', reject);
      });
      return socket;
    };
    const serial = (socket: TLSSocket): string => socket.getPeerCertificate().serialNumber;
    try {
      const early = await connection();
      const before = new X509Certificate(store.server.certificatePem).serialNumber;
      expect(serial(early)).toBe(before);
      await store.renewIfDue(inDays(61));
      const late = await connection();
      expect(serial(late)).toBe(new X509Certificate(store.server.certificatePem).serialNumber);
      expect(serial(late)).not.toBe(before);
      early.write('still here');
      const [echo] = await new Promise<[Buffer]>((resolve) =>
        early.once('data', (data: Buffer) => resolve([data])),
      );
      expect(echo.toString()).toBe('still here');
    } finally {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    }
  });
});

describe('a file that cannot be used', () => {
  const damage: Record<string, (name: string) => void> = {
    empty: (name) => writeFileSync(file(name), ''),
    'cut short': (name) => writeFileSync(file(name), readFileSync(file(name), 'utf8').slice(0, -40)),
    'with a flipped byte': (name) => {
      const text = readFileSync(file(name), 'utf8');
      const at = text.lastIndexOf('\n', text.length - 40) - 20;
      writeFileSync(file(name), `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`);
    },
    'of something else': (name) => writeFileSync(file(name), '\0'.repeat(5000)),
    'that is a directory': (name) => {
      rmSync(file(name));
      mkdirSync(file(name));
    },
  };

  it.each(['ca.pem', 'server.pem'].flatMap((name) => Object.keys(damage).map((how) => [name, how] as const)))(
    '%s %s is named in one clear error, and nothing is written over',
    async (name, how) => {
      await open();
      damage[how]?.(name);
      const before = contents();
      await expect(open()).rejects.toMatchObject({
        code: 'CertificateUnusable',
        message: expect.stringContaining(`${file(name)} cannot be used: `) as string,
        details: { file: file(name) },
      });
      expect(contents()).toEqual(before);
    },
  );

  it('is also a CA that is missing while its server certificate is there', async () => {
    await open();
    rmSync(file('ca.pem'));
    await expect(open()).rejects.toThrow('ca.pem cannot be used: it is missing');
    expect(readdirSync(file('.'))).toEqual(['server.pem']);
  });

  it('is also a server certificate of another CA', async () => {
    await open();
    const foreign = readFileSync(file('server.pem'), 'utf8');
    rmSync(file('.'), { recursive: true });
    await open();
    writeFileSync(file('server.pem'), foreign);
    await expect(open()).rejects.toThrow('server.pem cannot be used: it was not issued by the CA');
  });

  it('is also a place where no directory can be', async () => {
    writeFileSync(join(scratch.path, 'pki'), '');
    chmodSync(join(scratch.path, 'pki'), 0o600);
    await expect(open()).rejects.toThrow(`${join(scratch.path, 'pki')} cannot be used: `);
  });
});

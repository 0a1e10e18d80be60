import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeCertificates, type TestCertificates } from './certificates.js';
import { freePort } from './free-port.js';
import { scratchDirectory } from './scratch.js';

/** A real etcd on loopback: one member or several, which a test may kill and start again. */
export interface EtcdCluster {
  readonly urls: readonly string[];
  readonly certificates: TestCertificates | undefined;
  /** The number of the member that leads now. */
  leader(): Promise<number>;
  /** Ends one member with SIGKILL. */
  kill(member: number): Promise<void>;
  /** Starts a killed member again on the data it had. */
  restart(member: number): Promise<void>;
  /** Stops one member with SIGSTOP: its connections stay open and nothing answers on them. */
  freeze(member: number): void;
  thaw(member: number): void;
  stop(): Promise<void>;
}

interface Member {
  readonly name: string;
  readonly clientUrl: string;
  readonly peerUrl: string;
  process: ChildProcess | undefined;
}

export async function startEtcd(
  options: { members?: number; tls?: boolean; flags?: readonly string[] } = {},
): Promise<EtcdCluster> {
  const found = spawnSync('etcd', ['--version']);
  if (found.error !== undefined)
    throw new Error('etcd is not installed: make test-setup installs Debian’s etcd-server');
  const scratch = scratchDirectory('etcd');
  const certificates = options.tls ? makeCertificates(scratch.path) : undefined;
  const scheme = certificates === undefined ? 'http' : 'https';
  const members: Member[] = [];
  for (let index = 0; index < (options.members ?? 1); index++) {
    members.push({
      name: `m${index}`,
      clientUrl: `${scheme}://127.0.0.1:${await freePort()}`,
      peerUrl: `http://127.0.0.1:${await freePort()}`,
      process: undefined,
    });
  }
  const initialCluster = members.map((member) => `${member.name}=${member.peerUrl}`).join(',');

  const start = (member: Member): void => {
    const log = openSync(join(scratch.path, `${member.name}.log`), 'a');
    member.process = spawn(
      'etcd',
      [
        ...['--name', member.name, '--data-dir', join(scratch.path, member.name)],
        ...['--listen-client-urls', member.clientUrl, '--advertise-client-urls', member.clientUrl],
        ...['--listen-peer-urls', member.peerUrl, '--initial-advertise-peer-urls', member.peerUrl],
        ...['--initial-cluster', initialCluster, '--initial-cluster-state', 'new', '--logger', 'zap'],
        ...(options.flags ?? []),
        ...(certificates === undefined
          ? []
          : [
              ...['--cert-file', certificates.certFile, '--key-file', certificates.keyFile],
              ...['--client-cert-auth', '--trusted-ca-file', certificates.caFile],
            ]),
      ],
      { stdio: ['ignore', log, log] },
    );
    closeSync(log);
  };
  const healthy = async (member: Member): Promise<void> => {
    for (let attempt = 0; attempt < 200; attempt++) {
      if (await isHealthy(member.clientUrl, certificates)) return;
      await sleep(50);
    }
    const log = readFileSync(join(scratch.path, `${member.name}.log`), 'utf8').slice(-2000);
    throw new Error(`etcd ${member.name} did not become healthy within 10 s:\n${log}`);
  };
  const kill = async (member: Member): Promise<void> => {
    const child = member.process;
    if (child === undefined) return;
    member.process = undefined;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await gone;
  };

  // A test that fails must not leave servers behind.
  const killAll = (): void => {
    for (const member of members) member.process?.kill('SIGKILL');
  };
  process.once('exit', killAll);
  const stop = async (): Promise<void> => {
    process.off('exit', killAll);
    await Promise.all(members.map(kill));
    scratch.remove();
  };
  try {
    for (const member of members) start(member);
    await Promise.all(members.map(healthy));
  } catch (error) {
    await stop();
    throw error;
  }
  const at = (index: number): Member => {
    const member = members[index];
    if (member === undefined) throw new Error(`no member ${index}`);
    return member;
  };
  return {
    urls: members.map((member) => member.clientUrl),
    certificates,
    kill: (index) => kill(at(index)),
    restart: async (index) => {
      start(at(index));
      await healthy(at(index));
    },
    freeze: (index) => void at(index).process?.kill('SIGSTOP'),
    thaw: (index) => void at(index).process?.kill('SIGCONT'),
    leader: async () => {
      for (const [index, member] of members.entries()) {
        if (/^etcd_server_is_leader 1$/m.test(await get(`${member.clientUrl}/metrics`, certificates)))
          return index;
      }
      throw new Error('no member leads');
    },
    stop,
  };
}

const isHealthy = async (url: string, certificates: TestCertificates | undefined): Promise<boolean> =>
  (await get(`${url}/health`, certificates)).includes('"health":"true"');

/** What a member answers, or nothing. */
function get(url: string, certificates: TestCertificates | undefined): Promise<string> {
  return new Promise((resolve) => {
    const options = { timeout: 1000, ...(certificates === undefined ? {} : certificates.pem) };
    const send = certificates === undefined ? httpRequest : httpsRequest;
    const request = send(url, options, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () => resolve(text));
    });
    request.on('error', () => resolve(''));
    request.on('timeout', () => request.destroy());
    request.end();
  });
}

import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NetworkNamespace } from '../../testing/network-namespace.js';
import { plusMs } from '../env/instant.js';
import { ServerList } from '../client/server-list.js';
import { realEnv } from '../env/real.js';
import type { Node } from '../model/kinds/node.js';
import type { Replica } from '../model/kinds/replica.js';
import { AgentIdentity } from './agent-identity.js';
import { type BerthProcess, endSupervisor, startBerth } from './process.fixture.js';
import { type TestClient, testClient } from './test-client.fixture.js';

const soon = { timeout: 60_000, interval: 200 };
const json = { 'content-type': 'application/json' };
const dayMs = 86_400_000;

// Networks of one's own are root's to make.
describe.runIf(process.getuid?.() === 0)('a server and three agents, each on a network of its own', () => {
  // Jobs run as somebody who may do little, and must get here.
  const home = mkdtempSync(join(tmpdir(), 'berth-agents-'));
  chmodSync(home, 0o711);
  const networks: NetworkNamespace[] = [];
  const agents: BerthProcess[] = [];
  let server: BerthProcess;
  let client: TestClient;
  const dirOf = (node: string): string => join(home, node);

  const send = async (method: string, path: string, body?: object): Promise<string> => {
    const { status, text } = await client.send(method, path, {
      ...(body !== undefined && { headers: json, body: JSON.stringify(body) }),
    });
    if (status >= 300) throw new Error(`${method} ${path}: ${text}`);
    return text;
  };
  const tokenFile = async (name: string, join_: object): Promise<string> => {
    const text = await send('POST', '/apis/authentication.berth.dev/v1/tokens', {
      spec: { join: join_, ttl: '1h' },
    });
    const file = join(home, `${name}.token`);
    writeFileSync(file, (JSON.parse(text) as { status: { token: string } }).status.token);
    return file;
  };
  /** A server that nobody is at, then the one that is: the next one is tried. */
  const urlsFrom = ({ hostAddress }: NetworkNamespace): string => {
    const { port } = new URL(server.url);
    return `https://${hostAddress}:1,https://${hostAddress}:${port}`;
  };
  const startAgent = (network: NetworkNamespace, node: string, ...words: string[]): Promise<BerthProcess> =>
    startBerth(
      ['agent', '--server', urlsFrom(network), '--dir', dirOf(node), '--name', node, ...words],
      network.words,
    );

  beforeAll(async () => {
    for (const number of [1, 2, 3]) networks.push(new NetworkNamespace(number));
    const hosts = networks.flatMap(({ hostAddress }) => ['--host', hostAddress]);
    server = await startBerth([
      ...['server', '--store', `lmdb:${join(home, 'store')}`, '--dir', join(home, 'server')],
      ...['--listen', '0.0.0.0:0', ...hosts],
    ]);
    client = testClient(server.kubeconfig);
    for (const [index, network] of networks.entries()) {
      const node = `n${index + 1}`;
      const token = await tokenFile(node, { prefix: 'n', zone: `z${index + 1}` });
      agents.push(await startAgent(network, node, '--token-file', token, '--stop-jobs'));
    }
  }, 180_000);

  afterAll(async () => {
    client.close();
    for (const { child, ended } of agents) {
      child.kill('SIGTERM');
      await ended;
    }
    server.child.kill('SIGTERM');
    await server.ended;
    for (const node of ['n1', 'n2', 'n3']) endSupervisor(dirOf(node));
    for (const network of networks) network.remove();
    rmSync(home, { recursive: true, force: true });
  }, 120_000);

  const nodes = async (): Promise<string[]> => {
    const { items } = JSON.parse(await send('GET', '/apis/berth.dev/v1/nodes')) as { items: Node[] };
    return items.map(({ metadata, spec, status }) => `${metadata.name} ${spec.zone} ${status?.reachability}`);
  };
  const replicas = async (): Promise<readonly Replica[]> =>
    (JSON.parse(await send('GET', '/apis/berth.dev/v1/namespaces/default/replicas')) as { items: Replica[] })
      .items;
  const shown = async (): Promise<string[]> =>
    (await replicas())
      .map(({ status }) => `${status?.binding?.node} ${status?.stage} ${status?.executions}`)
      .toSorted();

  it('join by tokens, in the zones that these say, and keep who they are to themselves', async () => {
    await expect.poll(nodes, soon).toEqual(['n1 z1 Fresh', 'n2 z2 Fresh', 'n3 z3 Fresh']);
    expect(agents.map(({ said }) => said.split(' at ')[0])).toEqual([
      ...['ready: node n1', 'ready: node n2', 'ready: node n3'],
    ]);
    expect(statSync(join(dirOf('n1'), 'identity.json')).mode & 0o777).toBe(0o600);
  }, 90_000);

  it('have the addresses from which they reach the server, and those stay when the server is reached otherwise', async () => {
    const { items } = JSON.parse(await send('GET', '/apis/berth.dev/v1/nodes')) as { items: Node[] };
    expect(items.map(({ status }) => status?.agent?.address)).toEqual(networks.map(({ address }) => address));
    const dir = dirOf('n1');
    const reached = async (address: string | undefined, url: string): Promise<string> => {
      const options = { tokenFile: undefined, ca: undefined, region: undefined, zone: undefined };
      const identity = await AgentIdentity.open({
        ...{ ...options, dir, node: 'n1', servers: new ServerList([url]), address, env: realEnv() },
        onProblem: () => undefined,
      });
      return identity.address;
    };
    const address = networks[0]?.address ?? '';
    expect(await reached(undefined, 'https://127.0.0.1:1')).toBe(address);
    expect(await reached(undefined, `https://${'x'.repeat(64)}.invalid:1`)).toBe(address);
    expect(await reached('10.9.9.9', 'https://127.0.0.1:1')).toBe('10.9.9.9');
    expect(await reached(address, 'https://127.0.0.1:1')).toBe(address);
  });

  it('are refused by a token that was used, in another zone, and under a name that is taken', async () => {
    const [network] = networks;
    if (network === undefined) throw new Error('there is no network');
    const used = startAgent(network, 'n4', '--token-file', join(home, 'n1.token'));
    await expect(used).rejects.toThrow('ended with 77: error: the token has been used, by node n1');
    const taken = startBerth(
      [
        ...['agent', '--server', urlsFrom(network), '--dir', dirOf('other'), '--name', 'n2'],
        ...['--token-file', await tokenFile('taken', { prefix: 'n' })],
      ],
      network.words,
    );
    await expect(taken).rejects.toThrow('ended with 77: error: there is a node n2');
    const token = await tokenFile('n5', {});
    const elsewhere = startAgent(network, 'n5', '--token-file', token, '--zone', 'z9');
    await expect(elsewhere).rejects.toThrow(
      'ended with 77: error: the token is for region local and zone local, and this machine is started for region local and zone z9',
    );
    const id = /^berth_([0-9a-f]{16})_/.exec(readFileSync(token, 'utf8'))?.[1];
    const { items } = JSON.parse(await send('GET', '/apis/authentication.berth.dev/v1/tokens')) as {
      items: readonly { readonly metadata: { readonly name: string }; readonly status: object }[];
    };
    const kept = items.find(({ metadata }) => metadata.name === id);
    expect(kept?.status, 'the token is not used up').not.toHaveProperty('usedBy');
    expect(kept).toBeDefined();
  }, 90_000);

  it('run work, go on with it while they are cut off, and say what happened when they are heard again', async () => {
    await send('POST', '/apis/berth.dev/v1/namespaces/default/workloads', {
      ...{ apiVersion: 'berth.dev/v1', kind: 'Workload', metadata: { name: 'work' } },
      spec: {
        ...{ type: 'Service', replicas: 3, onNodeLost: { action: 'Wait' } },
        template: { run: { process: { command: ['sleep', '100000'] } } },
        placement: { spread: [{ topology: 'Node' }] },
      },
    });
    await expect.poll(shown, soon).toEqual(['n1 Serving 1', 'n2 Serving 1', 'n3 Serving 1']);
    const on = (node: string) => async (): Promise<Replica | undefined> =>
      (await replicas()).find(({ status }) => status?.binding?.node === node);
    const pid = Number((await on('n2')())?.status?.driverId);
    networks[1]?.cut();
    await expect.poll(nodes, soon).toContain('n2 z2 Suspect');
    // Nobody but its agent is there to start it again.
    process.kill(pid, 'SIGKILL');
    networks[1]?.heal();
    await expect.poll(nodes, soon).toContain('n2 z2 Fresh');
    await expect.poll(shown, soon).toEqual(['n1 Serving 1', 'n2 Serving 2', 'n3 Serving 1']);
    const [first] = agents;
    const kept = Number((await on('n1')())?.status?.driverId);
    first?.child.kill('SIGKILL');
    await first?.ended;
    const [network] = networks;
    if (network === undefined) throw new Error('there is no network');
    // It has joined: no token is asked for.
    agents[0] = await startAgent(network, 'n1', '--stop-jobs');
    expect(Number((await on('n1')())?.status?.driverId)).toBe(kept);
    expect(process.kill(kept, 0)).toBe(true);
  }, 240_000);

  it('renew their certificates before these expire, with the key they joined by', async () => {
    const options = {
      ...{
        dir: dirOf('renewed'),
        servers: new ServerList([server.url]),
        ca: undefined,
        node: 'n9',
        onProblem: () => undefined,
      },
      ...{
        region: undefined,
        zone: undefined,
        address: undefined,
        tokenFile: await tokenFile('n9', { node: 'n9' }),
      },
    };
    const env = realEnv();
    const identity = await AgentIdentity.open({ ...options, env });
    expect(await identity.renewIfDue()).toBe(false);
    const later = { ...env, clock: { ...env.clock, wall: () => plusMs(env.clock.wall(), 5 * dayMs) } };
    const due = await AgentIdentity.open({ ...options, env: later });
    expect(await due.renewIfDue()).toBe(true);
    const renewed = JSON.parse(readFileSync(join(options.dir, 'identity.json'), 'utf8')) as {
      credentials: { certificate: string };
    };
    expect(due.accessTo('').cert).toBe(renewed.credentials.certificate);
    expect(due.accessTo('').cert).not.toBe(identity.accessTo('').cert);
    expect(due.accessTo('').key).toBe(identity.accessTo('').key);
    await expect(
      AgentIdentity.open({
        ...{ ...options, tokenFile: undefined },
        env: { ...env, clock: { ...env.clock, wall: () => plusMs(env.clock.wall(), 30 * dayMs) } },
      }),
    ).rejects.toThrow('the certificate of node n9 expired');
  }, 90_000);
});

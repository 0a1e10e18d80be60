import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import { makeCertificates } from '../../testing/certificates.js';
import { scratchDirectory } from '../../testing/scratch.js';
import { HollowFleet } from '../agent/fleet/hollow-fleet.js';
import { plainFleet } from '../agent/fleet/read-fleet.js';
import { ServerList } from '../client/server-list.js';
import { NodeConnection } from '../client/node-connection.js';
import { NodeHub } from '../commit/nodes/node-hub.js';
import { openTestCell, type WorkloadOptions } from '../commit/test-cell.fixture.js';
import type { Node } from '../model/kinds/node.js';
import type { Replica } from '../model/kinds/replica.js';
import { nodeProtocol } from '../model/node-wire.js';
import { Validator } from '../model/validate.js';
import { CachedObjects } from '../objects/cached-objects.js';
import { parseIdentity } from '../serve/identity/identity.js';
import { NodeWire } from '../serve/node-wire.js';

const closing: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** A cell whose nodes are played over TLS, with what a test needs to bind replicas to them and to cut them off. */
async function openCell() {
  const scratch = scratchDirectory('node-protocol');
  closing.push(() => scratch.remove());
  const { pem } = makeCertificates(scratch.path);
  const cell = await openTestCell({ isAudited: false });
  const { env } = cell;
  const objects = new CachedObjects({ objects: cell.objects, cache: cell.cache, manager: 'test' });
  const parts = { objects, authority: cell.authority, env };
  const hub = new NodeHub({ ...parts, nodes: () => cell.cache.count('Node') });
  const stop = new AbortController();
  hub.start(stop.signal);
  const defects: unknown[] = [];
  const wire = new NodeWire({
    streams: hub,
    validator: new Validator(),
    placeOf: () => Promise.resolve(undefined),
    env,
    onDefect: (error) => defects.push(error),
  });
  const sockets: Duplex[] = [];
  let refusedNow: string | undefined;
  const server = createServer({ cert: pem.cert, key: pem.key });
  server.on('upgrade', (_, socket: Duplex) => {
    sockets.push(socket);
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${nodeProtocol}\r\n\r\n`,
    );
    void wire.serve(socket, parseIdentity('hollow:hollow-'), () => Promise.resolve(refusedNow));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  closing.push(() => {
    stop.abort();
    wire.close();
    server.close();
    expect(defects).toEqual([]);
  });
  const problems: string[] = [];
  const connect = async (): Promise<NodeConnection> => {
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const access = {
      url,
      ca: pem.ca.toString(),
      cert: undefined,
      key: undefined,
      token: undefined,
      namespace: '',
    };
    const connection = await NodeConnection.open({
      servers: new ServerList([url]),
      accessTo: () => access,
      env,
      onProblem: (text) => problems.push(text),
    });
    closing.push(() => connection.close());
    return connection;
  };
  const play = async (count: number): Promise<HollowFleet> => {
    const fleet = new HollowFleet({
      ...{ streams: await connect(), env, version: '0', nodes: plainFleet(count).nodes },
      onProblem: (node, message) => problems.push(`${node} ${message}`),
    });
    closing.push(() => fleet.close());
    fleet.start();
    await expect.poll(() => fleet.open, soon).toBe(count);
    return fleet;
  };
  const nodeNamed = (name: string): Node | undefined => objects.get<Node>('Node', undefined, name);
  const stages = (): string[] =>
    [...objects.list<Replica>('Replica')].map(({ metadata, status }) => `${metadata.name} ${status?.stage}`);
  /** Replicas of a new workload, bound to these nodes. */
  const bind = async (tenant: string, name: string, nodes: readonly string[], more: WorkloadOptions = {}) => {
    const workload = await cell.workload(tenant, name, { cpu: '1' }, more);
    const replicas: Replica[] = [];
    for (const [slot, node] of nodes.entries()) {
      const replica = await cell.incarnate(workload, String(slot));
      const nodeEpoch = nodeNamed(node)?.status?.epoch;
      expect(await cell.bind(replica, node, { ...(nodeEpoch && { nodeEpoch }) })).toMatchObject({
        kind: 'Committed',
      });
      replicas.push(replica);
    }
    return replicas;
  };
  const refuse = (why: string): void => void (refusedNow = why);
  return { cell, hub, connect, play, bind, nodeNamed, stages, sockets, problems, refuse };
}

const soon = { timeout: 30_000, interval: 20 };

describe('the node protocol over TLS', () => {
  it('carries many nodes on one connection: they start what is bound to them, report it, and stop it', async () => {
    const { cell, hub, play, bind, stages, sockets } = await openCell();
    await play(200);
    expect(sockets).toHaveLength(1);
    expect(hub.counters).toMatchObject({ lines: 200, stale: 0 });
    await cell.tenant('t');
    const [first] = await bind('t', 'api', ['hollow-1', 'hollow-2', 'hollow-200']);
    await bind('t', 'job', ['hollow-3'], { type: 'Batch' });
    await expect
      .poll(stages, soon)
      .toEqual(['api-0-1 Ready', 'api-1-1 Ready', 'api-2-1 Ready', 'job-0-1 Ready']);
    await cell.evict(first as Replica);
    await expect.poll(stages, soon).toContain('api-0-1 Released');
    await expect.poll(stages, soon).toContain('job-0-1 Succeeded');
  }, 60_000);

  it('resumes after a cut under the same epoch, and says what happened meanwhile', async () => {
    const { cell, hub, play, bind, stages, sockets, nodeNamed, problems } = await openCell();
    await play(20);
    await cell.tenant('t');
    sockets[0]?.destroy();
    await expect.poll(() => hub.counters.lines, soon).toBe(0);
    await bind('t', 'api', ['hollow-7']);
    await expect.poll(() => hub.counters.lines, soon).toBe(20);
    await expect.poll(stages, soon).toEqual(['api-0-1 Ready']);
    expect(nodeNamed('hollow-7')?.status?.epoch).toEqual({ cell: 1, number: 1 });
    expect(problems.join()).toContain('the connection was cut');
  }, 60_000);

  it('[S8] has a node register again when its epoch is over, and keeps what runs there', async () => {
    const { cell, play, bind, stages, nodeNamed } = await openCell();
    await play(2);
    await cell.tenant('t');
    await bind('t', 'api', ['hollow-1']);
    await expect.poll(stages, soon).toEqual(['api-0-1 Ready']);
    await cell.node('hollow-1');
    await expect.poll(() => nodeNamed('hollow-1')?.status?.epoch, soon).toEqual({ cell: 1, number: 3 });
    expect(stages()).toEqual(['api-0-1 Ready']);
  }, 60_000);

  it('[S6] asks at each registration whether the connection would still be let in', async () => {
    const { connect, refuse, nodeNamed } = await openCell();
    const streams = await connect();
    const offer = { capacity: {}, allocatable: {}, agent: {}, leaseSeconds: 40, node: 'hollow-1' };
    expect(await streams.register({ ...offer, operation: 'x' })).toMatchObject({ kind: 'Committed' });
    refuse('another machine has joined as this node');
    expect(await streams.register({ ...offer, operation: 'y' })).toMatchObject({
      ...{ kind: 'Rejected', reason: 'NotOwner', message: 'another machine has joined as this node' },
    });
    expect(nodeNamed('hollow-1')?.status?.epoch).toEqual({ cell: 1, number: 1 });
  }, 60_000);

  it('[S6] lets nobody act for a node that is not its own, and ends a connection that makes no sense', async () => {
    const { cell, connect, nodeNamed, sockets, problems } = await openCell();
    const streams = await connect();
    const offer = { capacity: {}, allocatable: {}, agent: {}, leaseSeconds: 40, operation: 'x' };
    expect(await streams.register({ ...offer, node: 'other' })).toMatchObject({
      ...{ kind: 'Rejected', reason: 'NotOwner' },
      message: 'hollow:hollow-: it acts only for nodes whose names begin with hollow-, not for other',
    });
    expect(nodeNamed('other')).toBeUndefined();
    const epoch = await cell.node('other');
    const heard: string[] = [];
    streams.open(
      { node: 'other', epoch, id: 1 },
      { hear: ({ kind }) => heard.push(kind), hasRoom: () => true },
    );
    await expect.poll(() => heard, soon).toEqual(['closed']);
    // A message whose fields are missing.
    void streams.register({ node: 'hollow-1' } as never);
    await expect.poll(() => problems.join(), soon).toContain('register: capacity: required');
    await expect.poll(() => sockets.length, soon).toBe(2);
  }, 60_000);

  it('[L6] says why it ends a connection on which a line is too long', async () => {
    const { connect, problems } = await openCell();
    const streams = await connect();
    const offer = { capacity: {}, allocatable: {}, leaseSeconds: 40, operation: 'x', node: 'hollow-1' };
    void streams.register({ ...offer, agent: { version: 'x'.repeat(300_000) } });
    await expect.poll(() => problems.join(), soon).toContain('a line of the stream is over 262144 bytes');
  }, 60_000);

  it('[L3] carries a set of bindings that is longer than any line may be', async () => {
    const { cell, play, bind, stages, sockets } = await openCell();
    await play(1);
    await cell.tenant('t');
    const env = Array.from({ length: 10 }, (_, index) => ({ name: `V${index}`, value: 'x'.repeat(100_000) }));
    const names = Array.from({ length: 10 }, (_, index) => `w${index}`);
    for (const name of names)
      await bind('t', name, ['hollow-1', 'hollow-1'], {
        template: { run: { process: { command: ['x'] }, env }, resources: {} },
      });
    sockets[0]?.destroy();
    await expect.poll(() => stages().every((each) => each.endsWith('Ready')), soon).toBe(true);
    expect(sockets.length).toBe(2);
  }, 60_000);
});

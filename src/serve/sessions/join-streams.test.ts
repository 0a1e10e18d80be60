import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type Duplex, duplexPair } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { joinStreams } from './join-streams.js';

const idleMs = 1_000;

/** Timers that run when the test says so. */
class Timers {
  readonly pending = new Map<object, { readonly ms: number; readonly run: () => void }>();
  readonly env = {
    after: (ms: number, run: () => void) => {
      const timer = { cancel: () => void this.pending.delete(timer) };
      this.pending.set(timer, { ms, run });
      return timer;
    },
  };
  fire(): void {
    const [[timer, { run }] = [{}, { run: () => undefined }]] = this.pending;
    this.pending.delete(timer);
    run();
  }
}

describe('a caller on a real connection and a node', () => {
  let timers: Timers;
  /** The ends of the caller and of the node, outside. */
  let client: Socket;
  let agent: Duplex;
  /** The ends that are joined. */
  let caller: Socket;
  let node: Duplex;
  beforeEach(async () => {
    timers = new Timers();
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    client.on('error', () => undefined);
    [caller] = (await once(server, 'connection')) as [Socket];
    caller.on('error', () => undefined);
    server.close();
    [node, agent] = duplexPair();
    joinStreams(timers.env, caller, node, idleMs);
  });
  afterEach(async () => {
    const isClosed = caller.closed ? undefined : once(caller, 'close');
    for (const end of [client, agent, caller, node]) end.destroy();
    await isClosed;
    if (timers.pending.size > 0) throw new Error('a timer goes on after the end');
  });
  const read = async (end: Duplex): Promise<number> => {
    let bytes = 0;
    for await (const chunk of end) bytes += (chunk as Buffer).length;
    return bytes;
  };

  it('the caller gets everything, also if it speaks after the node has ended and before it has read', async () => {
    const all = 400_000;
    agent.resume();
    agent.end(Buffer.alloc(all));
    await once(caller, 'finish');
    // Whatever the joined end does on its last output, it has done it now.
    for (let turns = 0; turns < 20; turns++) await turn();
    for (let n = 0; n < 3; n++) {
      client.write('the end of its input');
      for (let turns = 0; turns < 20; turns++) await turn();
    }
    expect(await read(client)).toBe(all);
  });

  it('the caller gets everything, also if it never stops speaking', async () => {
    const all = 400_000;
    agent.pause();
    const input = Buffer.alloc(100_000);
    const speak = (): void => {
      while (client.writable && client.write(input));
    };
    client.on('drain', speak);
    speak();
    agent.end(Buffer.alloc(all));
    expect(await read(client)).toBe(all);
  });

  it('both ends are over when the caller has read to the end', async () => {
    agent.end('all of it');
    agent.resume();
    const isClosed = Promise.all([once(caller, 'close'), once(node, 'close')]);
    expect(await read(client)).toBe(9);
    await isClosed;
  });

  it('a caller that reads and does not go is cut after a while, and the node is free before that', async () => {
    client.resume();
    client.allowHalfOpen = true;
    agent.resume();
    agent.end('all of it');
    await Promise.all([once(caller, 'finish'), once(node, 'close')]);
    expect(caller.destroyed).toBe(false);
    expect([...timers.pending.values()].map(({ ms }) => ms)).toEqual([60_000]);
    timers.fire();
    await once(caller, 'close');
  });

  it('the node is cut when the caller goes', async () => {
    const isOver = once(node, 'close');
    client.destroy();
    await isOver;
    await once(caller, 'close');
  });

  it('the caller gets what a node said before it was cut off, and then the end', async () => {
    agent.write('some of it');
    const [first] = (await once(client, 'data')) as [Buffer];
    expect(first.toString()).toBe('some of it');
    node.destroy();
    await once(client, 'end');
    await once(caller, 'close');
  });

  it('a pair that says nothing for so long is cut', async () => {
    client.resume();
    agent.resume();
    agent.write('something');
    await once(client, 'data');
    timers.fire();
    expect([...timers.pending.values()].map(({ ms }) => ms)).toEqual([idleMs]);
    expect(node.destroyed).toBe(false);
    timers.fire();
    await Promise.all([once(caller, 'close'), once(node, 'close')]);
  });
});

it('a node is cut when its caller has gone before the two are joined', () => {
  const timers = new Timers();
  const [caller] = duplexPair();
  const [node] = duplexPair();
  caller.destroy();
  joinStreams(timers.env, caller, node, idleMs);
  expect(node.destroyed).toBe(true);
  expect(timers.pending.size).toBe(0);
});

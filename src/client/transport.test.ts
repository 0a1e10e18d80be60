import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { getEventListeners, setMaxListeners } from 'node:events';
import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SeededRandom } from '../env/random.js';
import { realEnv } from '../env/real.js';
import { isBerthError } from '../model/errors.js';
import { BerthClient } from './client.js';
import { type Cut, type CuttingServer, cuts, startCuttingServer } from './cutting-server.fixture.js';
import { Transport, type TransportRequest } from './transport.js';

const env = realEnv();
const write = (path: string, parts: Partial<TransportRequest> = {}): TransportRequest => ({
  ...{ method: 'POST', path, body: JSON.stringify({ path }), timeoutMs: 20_000 },
  ...parts,
});

describe('a write', () => {
  let server: CuttingServer;
  let transport: Transport;
  beforeEach(async () => {
    server = await startCuttingServer();
    transport = new Transport({ access: server.access, env });
  });
  afterEach(async () => {
    transport.close();
    await server.close();
  });
  const codeOf = (sending: Promise<unknown>): Promise<string> =>
    sending.then(
      () => 'done',
      (error: unknown) => (isBerthError(error) ? error.code : String(error)),
    );

  it('that a server has read and then cut is never called unsent, also where it waited for a connection', async () => {
    const codes = new Map<string, string>();
    for (let round = 0; round < 5; round++) {
      // More than there are connections: some wait, and get one that another has used.
      let answered = 0;
      server.cutOf = (path) => (path !== undefined && (answered += 1) > 64 ? 'afterBody' : 'never');
      const paths = Array.from({ length: 200 }, (_, n) => `/round-${round}/${n}`);
      const sent = await Promise.all(paths.map((path) => codeOf(transport.send(write(path)))));
      for (const [n, path] of paths.entries()) codes.set(path, sent[n] ?? '');
    }
    const wrong = [...codes].filter(([path, code]) => server.begun.has(path) && code === 'ServerUnreachable');
    expect(wrong).toEqual([]);
    const counts = [...codes.values()].filter((code) => code === 'UnknownOutcome').length;
    expect(counts, 'requests that were read and cut').toBeGreaterThan(100);
    expect(
      [...server.begun.values()].filter((times) => times > 1),
      'sent twice',
    ).toEqual([]);
  }, 60_000);

  it.each(Array.from({ length: 8 }, (_, seed) => seed))(
    'is unsent only if the server has read nothing of it, done only if it has read all, and sent at most once, wherever connections are cut (seed %i)',
    async (seed) => {
      const random = new SeededRandom(`cuts-${seed}`);
      const kept = new Map<string, Cut>();
      server.cutOf = (path) => {
        if (path === undefined) return random.pick(['beforeHandshake', 'beforeRequest', 'never']);
        const cut = random.chance(0.5) ? 'never' : random.pick(cuts.filter((each) => each !== 'silent'));
        kept.set(path, cut);
        return cut;
      };
      const large = 'x'.repeat(300_000);
      const ends = new Map<string, string>();
      const one = async (path: string): Promise<void> => {
        if (random.chance(0.3)) await env.sleep(random.integer(30));
        const body = JSON.stringify({ path, filling: random.chance(0.3) ? large : '' });
        const gone = new AbortController();
        if (random.chance(0.1))
          void env.sleep(random.integer(20)).then(() => gone.abort(new Error('enough')));
        ends.set(path, await codeOf(transport.send(write(path, { body, signal: gone.signal }))));
      };
      await Promise.all(Array.from({ length: 300 }, (_, n) => one(`/write/${n}`)));

      const expected = ['done', 'UnknownOutcome', 'ServerUnreachable', 'Error: enough'];
      for (const [path, end] of ends) {
        const what = `${path}: ${end}, cut ${kept.get(path)}`;
        expect(expected, what).toContain(end);
        if (end === 'done') expect(server.whole.has(path), what).toBe(true);
        // A request that was given up before it was sent ends as its caller said.
        if (end === 'ServerUnreachable' || end === 'Error: enough')
          expect(server.begun.has(path), what).toBe(false);
        expect(server.begun.get(path) ?? 0, what).toBeLessThanOrEqual(1);
      }
      const found = new Set(ends.values());
      for (const end of ['done', 'UnknownOutcome', 'ServerUnreachable']) expect(found).toContain(end);
    },
    60_000,
  );

  it('that waits for a connection ends when its time is up, as unsent, whatever keeps the others', async () => {
    server.cutOf = (path) => (path === undefined ? 'never' : 'silent');
    const stop = new AbortController();
    setMaxListeners(100, stop.signal);
    const held = Array.from({ length: 32 }, (_, n) =>
      codeOf(transport.send(write(`/held/${n}`, { signal: stop.signal }))),
    );
    await expect.poll(() => server.whole.size).toBe(32);
    const begunAt = performance.now();
    expect(await codeOf(transport.send(write('/late', { timeoutMs: 100 })))).toBe('ServerUnreachable');
    const given = new AbortController();
    const giving = codeOf(transport.send(write('/given-up', { signal: given.signal })));
    given.abort(new Error('enough'));
    expect(await giving).toBe('Error: enough');
    expect(performance.now() - begunAt).toBeLessThan(3_000);
    stop.abort(new Error('stop'));
    expect(new Set(await Promise.all(held))).toEqual(new Set(['UnknownOutcome']));
    // A request that was given up is not sent when a connection becomes free.
    server.cutOf = () => 'never';
    expect(await codeOf(transport.send(write('/after')))).toBe('done');
    expect(server.begun.has('/late') || server.begun.has('/given-up')).toBe(false);
  });
});

describe('an answer of 503', () => {
  it.each([
    [
      'a Status',
      JSON.stringify({ kind: 'Status', reason: 'ServiceUnavailable', code: 503 }),
      'StoreUnavailable',
    ],
    ['no Status, as a proxy gives it', '<html>upstream lost</html>', 'UnknownOutcome'],
  ])('that is %s says of a write what is certain', async (_, body, code) => {
    const server = await startCuttingServer();
    server.answer = { status: 503, body };
    const client = new BerthClient({ access: server.access, retries: { attemptsMax: 1 } });
    await expect(client.ask('/write', {})).rejects.toMatchObject({ code });
    await expect(client.read('/read')).rejects.toMatchObject({ code: 'StoreUnavailable' });
    client.close();
    await server.close();
  });
});

describe('a read', () => {
  it('comes through wherever connections are cut, because it is sent again', async () => {
    const server = await startCuttingServer();
    const random = new SeededRandom('reads');
    server.cutOf = () =>
      random.chance(0.6) ? 'never' : random.pick(cuts.filter((each) => each !== 'silent'));
    const client = new BerthClient({
      access: server.access,
      retries: { attemptsMax: 30, backoffMsMin: 1, backoffMsMax: 10 },
    });
    const paths = Array.from({ length: 200 }, (_, n) => `/read/${n}`);
    const answers = await Promise.all(paths.map((path) => client.read(path)));
    expect(answers.every((answer) => (answer as { kind: string }).kind === 'Answer')).toBe(true);
    const sent = [...server.begun.values()].reduce((sum, times) => sum + times, 0);
    expect(sent, 'cuts').toBeGreaterThan(paths.length);
    client.close();
    await server.close();
  }, 60_000);
});

describe('20,000 requests over few connections', () => {
  it('leave neither listeners nor memory behind', async () => {
    const server = await startCuttingServer();
    const transport = new Transport({ access: server.access, env });
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on('warning', onWarning);
    const sockets = new Set<Socket>();
    const onStart = (message: unknown): void => {
      const { request } = message as { readonly request: ClientRequest };
      if (request.socket === null) request.once('socket', (socket) => sockets.add(socket));
      else sockets.add(request.socket);
    };
    subscribe('http.client.request.start', onStart);
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const heapBytes = (): number => {
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    const stop = new AbortController();
    setMaxListeners(100, stop.signal);
    const send = async (requests: number): Promise<void> => {
      let left = requests;
      const caller = async (): Promise<void> => {
        while (left-- > 0)
          await transport.send({ method: 'GET', path: '/', timeoutMs: 20_000, signal: stop.signal });
      };
      await Promise.all(Array.from({ length: 50 }, caller));
    };
    await send(500);
    const heapBefore = heapBytes();
    await send(20_000);
    const grownBytes = heapBytes() - heapBefore;
    expect(sockets.size).toBeGreaterThan(0);
    expect(server.connections).toBeLessThanOrEqual(40);
    const listeners = [...sockets].map((socket) =>
      socket.eventNames().reduce((sum, name) => sum + socket.listenerCount(name), 0),
    );
    expect(Math.max(...listeners)).toBeLessThan(20);
    expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
    expect(grownBytes).toBeLessThan(5 * 1024 * 1024);
    expect(warnings).toEqual([]);
    process.off('warning', onWarning);
    unsubscribe('http.client.request.start', onStart);
    transport.close();
    await server.close();
  }, 120_000);
});

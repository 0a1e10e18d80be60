import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { getEventListeners, setMaxListeners } from 'node:events';
import type { ClientRequest } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
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

describe('a cell of two servers', () => {
  let servers: readonly [CuttingServer, CuttingServer];
  let client: BerthClient;
  beforeEach(async () => {
    const first = await startCuttingServer();
    servers = [first, await startCuttingServer(first)];
    const access = { ...first.access, otherUrls: [servers[1].access.url] };
    client = new BerthClient({ access, retries: { attemptsMax: 1 } });
  });
  afterEach(async () => {
    client.close();
    await Promise.all(servers.map((server) => server.close()));
  });
  const begunTimes = (path: string): number =>
    servers.reduce((sum, { begun }) => sum + (begun.get(path) ?? 0), 0);

  it.each(Array.from({ length: 8 }, (_, seed) => seed))(
    'gets each write at most once, and calls it unsent only if neither server has read of it (seed %i)',
    async (seed) => {
      const random = new SeededRandom(`two-servers-${seed}`);
      for (const server of servers)
        server.cutOf = (path) => {
          if (path === undefined) return random.pick(['beforeHandshake', 'beforeRequest', 'never']);
          return random.chance(0.5) ? 'never' : random.pick(cuts.filter((each) => each !== 'silent'));
        };
      const ends = new Map<string, string>();
      const one = async (path: string): Promise<void> => {
        if (random.chance(0.3)) await env.sleep(random.integer(30));
        await client.ask(path, { path }).then(
          () => ends.set(path, 'done'),
          (error: unknown) => ends.set(path, isBerthError(error) ? error.code : String(error)),
        );
      };
      await Promise.all(Array.from({ length: 300 }, (_, n) => one(`/write/${n}`)));
      for (const [path, end] of ends) {
        expect(['done', 'UnknownOutcome', 'ServerUnreachable'], path).toContain(end);
        expect(begunTimes(path), `${path}: ${end}`).toBeLessThanOrEqual(1);
        if (end === 'done')
          expect(
            servers.some(({ whole }) => whole.has(path)),
            path,
          ).toBe(true);
        if (end === 'ServerUnreachable') expect(begunTimes(path), path).toBe(0);
      }
      expect(new Set(ends.values())).toContain('UnknownOutcome');
      for (const { begun } of servers) expect(begun.size, 'requests at each').toBeGreaterThan(10);
    },
    60_000,
  );

  it('does a write at the second server where no connection to the first is made, and stays there', async () => {
    servers[0].cutOf = (path) => (path === undefined ? 'beforeHandshake' : 'never');
    await client.ask('/write/0', {});
    await client.ask('/write/1', {});
    expect([...servers[1].begun.keys()]).toEqual(['/write/0', '/write/1']);
    expect(servers[0].connections).toBe(1);
    expect(client.server).toBe(servers[1].access.url);
  });

  it('does not do a write again that the first server may have read, but does the next one elsewhere', async () => {
    servers[0].cutOf = (path) => (path === undefined ? 'never' : 'afterBody');
    await expect(client.ask('/write/0', {})).rejects.toMatchObject({ code: 'UnknownOutcome' });
    await client.ask('/write/1', {});
    expect(servers[1].begun).toEqual(new Map([['/write/1', 1]]));
  });

  it('answers a read that the first server cut off', async () => {
    servers[0].cutOf = (path) => (path === undefined ? 'never' : 'inAnswerBody');
    expect(await client.read('/read')).toMatchObject({ kind: 'Answer' });
    expect([begunTimes('/read'), servers[1].begun.get('/read')]).toEqual([2, 1]);
  });

  it('does not ask the second server what the first has refused', async () => {
    servers[0].answer = {
      status: 403,
      body: JSON.stringify({ kind: 'Status', reason: 'Forbidden', code: 403 }),
    };
    await expect(client.read('/read')).rejects.toMatchObject({ code: 'Forbidden' });
    expect(begunTimes('/read')).toBe(1);
  });

  it('is asked elsewhere after a server that does not reach its store', async () => {
    const body = JSON.stringify({ kind: 'Status', reason: 'ServiceUnavailable', code: 503 });
    servers[0].answer = { status: 503, body };
    await expect(client.ask('/write/0', {}), 'not sent again').rejects.toMatchObject({
      code: 'StoreUnavailable',
    });
    await client.ask('/write/1', {});
    expect(servers[1].begun).toEqual(new Map([['/write/1', 1]]));
  });

  it('is asked at the second server after 3 s in which the first accepts connections and says nothing', async () => {
    const silent = createServer();
    await new Promise<void>((resolve) => void silent.listen(0, '127.0.0.1', resolve));
    const url = `https://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const held = new Set<Socket>();
    silent.on('connection', (socket) => held.add(socket));
    const access = { ...servers[0].access, url, otherUrls: [servers[1].access.url] };
    const patient = new BerthClient({ access });
    const begunAt = performance.now();
    await patient.ask('/write/0', {});
    const tookMs = performance.now() - begunAt;
    expect(tookMs).toBeGreaterThan(2_900);
    expect(tookMs).toBeLessThan(8_000);
    patient.close();
    for (const socket of held) socket.destroy();
    silent.close();
  }, 20_000);

  it('goes on with lines at the second server where the first does not begin them', async () => {
    servers[0].cutOf = (path) => (path === undefined ? 'beforeHandshake' : 'never');
    servers[1].answer = { status: 200, body: 'one\ntwo\n' };
    const lines: string[] = [];
    for await (const line of client.lines('/log', new URLSearchParams())) lines.push(line);
    expect(lines).toEqual(['one', 'two']);
  });

  it('names both servers when neither can be reached', async () => {
    for (const server of servers) server.cutOf = () => 'beforeHandshake';
    await expect(client.ask('/write/0', {})).rejects.toMatchObject({
      code: 'ServerUnreachable',
      servers: servers.map(({ access }) => ({ url: access.url })),
    });
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

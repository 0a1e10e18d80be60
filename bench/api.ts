import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { createServer, request as plainRequest } from 'node:http';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import { scratchDirectory } from '../testing/scratch.js';
import { type Bench, load, percentile } from './measure.js';

const objectsToList = 10_000;
const watchers = 200;

interface Server {
  readonly url: string;
  readonly pid: number;
  readonly readyMs: number;
  readonly agent: Agent;
  stop(): Promise<void>;
}

/** `berth up` in a process of its own, as a user starts it. */
async function startUp(dir: string): Promise<Server> {
  const startedAt = performance.now();
  const program = fileURLToPath(new URL('../src/cli/berth.js', import.meta.url));
  const child = spawn(process.execPath, [program, 'up', '--dir', dir, '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ready = await new Promise<string>((resolve, reject) => {
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes('\n')) resolve(said);
    });
    child.once('exit', (code) => reject(new Error(`berth up ended with ${code}`)));
  });
  const readyMs = performance.now() - startedAt;
  const url = /https:\S+/.exec(ready)?.[0] ?? '';
  const config = parse(readFileSync(`${dir}/kubeconfig`, 'utf8')) as {
    clusters: { cluster: Record<string, string> }[];
    users: { user: Record<string, string> }[];
  };
  const decode = (text: string | undefined): string => Buffer.from(text ?? '', 'base64').toString();
  const user = config.users[0]?.user ?? {};
  const agent = new Agent({
    ca: decode(config.clusters[0]?.cluster['certificate-authority-data']),
    cert: decode(user['client-certificate-data']),
    key: decode(user['client-key-data']),
    keepAlive: true,
    maxSockets: 1_000,
  });
  return {
    url,
    pid: child.pid ?? 0,
    readyMs,
    agent,
    stop: async () => {
      agent.destroy();
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      await gone;
    },
  };
}

function send(
  { url, agent }: Server,
  method: string,
  path: string,
  body?: string,
): Promise<{ status: number; bytes: number }> {
  return new Promise((resolve, reject) => {
    const headers =
      body === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const sent = request(url, { agent, method, path, headers }, (response) => {
      let bytes = 0;
      response.on('data', (chunk: Buffer) => (bytes += chunk.length));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, bytes }));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

const workloads = '/apis/berth.dev/v1/namespaces/default/workloads';
const workload = (name: string): string =>
  JSON.stringify({
    apiVersion: 'berth.dev/v1',
    kind: 'Workload',
    metadata: { name, labels: { app: 'bench' } },
    spec: {
      type: 'Service',
      replicas: 3,
      template: { run: { process: { command: ['./serve'] } }, resources: { cpu: '2', memory: '4Gi' } },
    },
  });

/** What Node's own server answers over plain HTTP with nothing to do: the limit of this machine's stack. */
async function bareRequests(): Promise<number> {
  const server = createServer((_, response) => response.end('{}'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const { Agent: PlainAgent } = await import('node:http');
  const agent = new PlainAgent({ keepAlive: true, maxSockets: 64 });
  const { perSecond } = await load(
    32,
    1_500,
    () =>
      new Promise<void>((resolve, reject) => {
        plainRequest({ host: '127.0.0.1', port, agent, method: 'POST' }, (response) => {
          response.resume();
          response.on('end', () => resolve());
        })
          .on('error', reject)
          .end(workload('x'));
      }),
  );
  agent.destroy();
  server.close();
  return perSecond;
}

const cpuSecondsOf = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
};
const rssMiBOf = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;

export const apiBench: Bench = {
  name: 'api',
  title: 'the API over HTTPS with keep-alive, from another process than the server’s',
  async run(print) {
    const scratch = scratchDirectory('bench-api');
    let server = await startUp(scratch.path);
    const limit = {
      value: await bareRequests(),
      what: 'empty answers of Node’s own HTTP server in this process',
    };

    let made = 0;
    const creates = await load(64, 4_000, async () => {
      const { status } = await send(server, 'POST', workloads, workload(`w-${made++}`));
      if (status !== 201) throw new Error(`create answered ${status}`);
    });
    print({
      name: 'creates, 64 callers',
      value: creates.perSecond,
      unit: '/s',
      limit,
      target: { atLeast: 3_000 },
    });
    print({ name: 'creates, p99', value: creates.p99Ms, unit: 'ms' });
    while (made < objectsToList) {
      await Promise.all(
        Array.from({ length: 64 }, () => send(server, 'POST', workloads, workload(`w-${made++}`))),
      );
    }

    const gets: number[] = [];
    const pending: Promise<void>[] = [];
    const getsFrom = performance.now();
    for (let sent = 0; sent < 4_000;) {
      for (; sent < performance.now() - getsFrom && sent < 4_000; sent++) {
        const at = performance.now();
        pending.push(
          send(server, 'GET', `${workloads}/w-${sent % 1_000}`).then(
            () => void gets.push(performance.now() - at),
          ),
        );
      }
      await sleep(1);
    }
    await Promise.all(pending);
    gets.sort((a, b) => a - b);
    print({ name: 'get at 1,000/s, p99', value: percentile(gets, 0.99), unit: 'ms' });

    const lists: number[] = [];
    let bytes = 0;
    for (let count = 0; count < 7; count++) {
      const at = performance.now();
      ({ bytes } = await send(server, 'GET', `${workloads}?limit=${objectsToList}`));
      lists.push(performance.now() - at);
    }
    lists.sort((a, b) => a - b);
    print({
      name: `list of ${objectsToList} objects (${Math.round(bytes / 1e6)} MB)`,
      value: percentile(lists, 0.5),
      unit: 'ms',
      target: { atMost: 400 },
    });

    print({
      name: 'one change to 200 watchers, p99',
      value: await watchLag(server),
      unit: 'ms',
      target: { atMost: 50 },
    });
    await server.stop();

    server = await startUp(scratch.path);
    print({
      name: `berth up ready with ${made} objects`,
      value: server.readyMs / 1000,
      unit: 's',
      target: { atMost: 2 },
    });
    await sleep(3_000);
    const before = cpuSecondsOf(server.pid);
    await sleep(5_000);
    print({
      name: 'idle, CPU',
      value: ((cpuSecondsOf(server.pid) - before) / 5) * 100,
      unit: '%',
      target: { atMost: 2 },
    });
    print({
      name: 'idle, resident memory',
      value: rssMiBOf(server.pid),
      unit: 'MiB',
      target: { atMost: 200 },
    });
    await server.stop();
    scratch.remove();
  },
};

/** The time from sending a change until each watcher has it, over 100 changes. */
async function watchLag(server: Server): Promise<number> {
  const lags: number[] = [];
  let sentAt = 0;
  const open: { destroy(): void }[] = [];
  for (let index = 0; index < watchers; index++) {
    await new Promise<void>((resolve, reject) => {
      const path = `${workloads}?watch=true&fieldSelector=metadata.name%3Dwatched&resourceVersion=0`;
      const sent = request(server.url, { agent: server.agent, path }, (response) => {
        response.on('data', () => lags.push(performance.now() - sentAt));
        response.on('error', () => undefined);
        resolve();
      });
      sent.on('error', (error) => (sentAt === 0 ? reject(error) : undefined));
      sent.end();
      open.push(sent);
    });
  }
  sentAt = performance.now();
  await send(server, 'POST', workloads, workload('watched'));
  for (let change = 0; change < 100; change++) {
    await sleep(20);
    sentAt = performance.now();
    await new Promise<void>((resolve, reject) => {
      const body = JSON.stringify({ metadata: { annotations: { change: String(change) } } });
      const headers = {
        'content-type': 'application/merge-patch+json',
        'content-length': Buffer.byteLength(body),
      };
      const sent = request(
        server.url,
        { agent: server.agent, method: 'PATCH', path: `${workloads}/watched`, headers },
        (response) => {
          response.resume();
          response.on('end', () => resolve());
        },
      );
      sent.on('error', reject);
      sent.end(body);
    });
  }
  await sleep(200);
  for (const one of open) one.destroy();
  if (lags.length < watchers * 95) throw new Error(`only ${lags.length} changes arrived`);
  lags.sort((a, b) => a - b);
  return percentile(lags, 0.99);
}

import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SecureContext } from 'node:tls';
import { scratchDirectory } from '../testing/scratch.js';
import { measureGets } from './gets.js';
import { fillStore, listInPages } from './list-pages.js';
import { type Bench, type Figure, inTurn, type Load, load, percentile } from './measure.js';
import { rawCaller, rawRequest } from './raw-caller.js';
import { send, type ServerProcess, startBare, startUp, type UpProcess } from './up-process.js';

const callers = 64;
const objectsToList = 10_000;
const objectsToPage = 100_000;
const watchers = 200;

// A kind that no controller acts on, so that only the API is measured; about as large as a workload.
const classes = '/apis/berth.dev/v1/priorityclasses';
const description = 'What the class is for, at some length. '.repeat(15);
const priorityClass = (name: string): string =>
  JSON.stringify({
    apiVersion: 'berth.dev/v1',
    kind: 'PriorityClass',
    metadata: { name, labels: { app: 'bench' } },
    spec: { value: 1, description },
  });

/** Creates, or what Node's own server answers to the same bytes, over 64 connections. */
async function createLoad(
  server: ServerProcess,
  secureContext: SecureContext,
  names: () => string,
): Promise<Load> {
  const open = Array.from({ length: callers }, () => rawCaller(server.port, secureContext));
  const connections = await Promise.all(open);
  const result = await load(callers, 4_000, async (caller) => {
    const status = await connections[caller]?.call(rawRequest('POST', classes, priorityClass(names())));
    if (status !== 201) throw new Error(`create answered ${status}`);
  });
  for (const connection of connections) connection.close();
  return result;
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
    await measureCreates(print);

    const scratch = scratchDirectory('bench-api');
    let server = await startUp(scratch.path);
    await send(server, 'POST', classes, priorityClass('w-0'));
    await server.stop();
    await fillStore(scratch.path, 1, objectsToList);
    server = await startUp(scratch.path);

    await measureGets(print, server, scratch.path, `${classes}/w-1`);

    const lists: number[] = [];
    let bytes = 0;
    for (let count = 0; count < 7; count++) {
      const at = performance.now();
      ({ bytes } = await send(server, 'GET', `${classes}?limit=${objectsToList}`));
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
      name: `berth up ready with ${objectsToList} objects`,
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

    await fillStore(scratch.path, objectsToList, objectsToPage);
    const stretches = await listInPages(scratch.path, classes, objectsToPage + 2);
    print({
      name: `longest stretch of the main thread, ${objectsToPage} objects in pages`,
      value: stretches.longestOwnMs,
      unit: 'ms',
      target: { atMost: 20 },
    });
    print({ name: '  the same with garbage collection', value: stretches.longestMs, unit: 'ms' });
    print({ name: '  longest collection of garbage', value: stretches.longestCollectionMs, unit: 'ms' });
    scratch.remove();
  },
};

async function measureCreates(print: (figure: Figure) => void): Promise<void> {
  const scratch = scratchDirectory('bench-api-creates');
  const server = await startUp(scratch.path);
  let made = 0;
  const next = (): string => `w-${made++}`;
  await send(server, 'POST', classes, priorityClass(next()));
  const { bytes: answerBytes } = await send(server, 'GET', `${classes}/w-0`);
  const bare = await startBare(scratch.path, answerBytes);
  // The first round of each is for the compiler.
  await createLoad(bare, server.secureContext, () => 'w');
  await createLoad(server, server.secureContext, next);
  const cpuBefore = cpuSecondsOf(server.pid);
  const madeBefore = made;
  const [limit, creates] = await inTurn(
    3,
    () => createLoad(bare, server.secureContext, () => 'w'),
    () => createLoad(server, server.secureContext, next),
  );
  const cpuPerCreateMs = ((cpuSecondsOf(server.pid) - cpuBefore) * 1000) / (made - madeBefore);
  await bare.stop();
  print({
    name: 'creates, 64 callers, middle of three rounds',
    value: creates?.perSecond ?? 0,
    unit: '/s',
    limit: { value: limit?.perSecond ?? 0, what: 'bare answers of Node’s own HTTPS server' },
    target: { atLeast: 3_000 },
  });
  print({ name: 'creates, p99', value: creates?.p99Ms ?? 0, unit: 'ms' });
  print({ name: 'creates, CPU of the server’s process for each', value: cpuPerCreateMs, unit: 'ms' });
  await server.stop();
  scratch.remove();
}

/** The time from sending a change until each watcher has it, over 100 changes. */
async function watchLag(server: UpProcess): Promise<number> {
  const lags: number[] = [];
  let sentAt = 0;
  const open: { destroy(): void }[] = [];
  for (let index = 0; index < watchers; index++) {
    await new Promise<void>((resolve, reject) => {
      const path = `${classes}?watch=true&fieldSelector=metadata.name%3Dwatched&resourceVersion=0`;
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
  await send(server, 'POST', classes, priorityClass('watched'));
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
        { agent: server.agent, method: 'PATCH', path: `${classes}/watched`, headers },
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

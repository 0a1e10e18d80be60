import { request } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Figure, percentile } from './measure.js';
import { classes, priorityClass } from './priority-class.js';
import { send, startBare, type UpProcess } from './up-process.js';

const watchers = 200;
const changes = 100;

/** One change told to many watchers, beside what Node's own server takes to write as many bytes to as many connections. */
export async function measureWatchers(
  print: (figure: Figure) => void,
  server: UpProcess,
  dir: string,
): Promise<void> {
  const watched = `${classes}?watch=true&fieldSelector=metadata.name%3Dwatched&resourceVersion=0`;
  await send(server, 'POST', classes, priorityClass('watched'));
  const { bytes } = await send(server, 'GET', `${classes}/watched`);
  const own = await lagMs(server, watched, (change) => {
    const body = JSON.stringify({ metadata: { annotations: { change: String(change) } } });
    return send(server, 'PATCH', `${classes}/watched`, body, 'application/merge-patch+json');
  });
  const bare = { ...server, ...(await startBare(dir, bytes)) };
  const limit = await lagMs(bare, '/watch', () => send(bare, 'POST', '/change', '{}'));
  await bare.stop();
  print({
    name: `one change to ${watchers} watchers, p99`,
    value: own,
    unit: 'ms',
    limit: { value: limit, what: 'Node’s own HTTPS server that writes as many bytes to each' },
    target: { atMost: 50 },
  });
}

/** The time from sending a change until each watcher has it: the p99 over all changes. */
async function lagMs(
  server: Pick<UpProcess, 'url' | 'agent'>,
  path: string,
  change: (change: number) => Promise<unknown>,
): Promise<number> {
  const lags: number[] = [];
  // What was there before arrives with the opening of a watch; only what comes later is counted.
  let sentAt: number | undefined;
  const open: { destroy(): void }[] = [];
  for (let index = 0; index < watchers; index++) {
    await new Promise<void>((resolve, reject) => {
      const sent = request(server.url, { agent: server.agent, path }, (response) => {
        response.on('data', () => {
          if (sentAt !== undefined) lags.push(performance.now() - sentAt);
        });
        response.on('error', () => undefined);
        resolve();
      });
      sent.on('error', (error) => (sentAt === undefined ? reject(error) : undefined));
      sent.end();
      open.push(sent);
    });
  }
  await sleep(500);
  for (let count = 0; count < changes; count++) {
    await sleep(20);
    sentAt = performance.now();
    await change(count);
  }
  await sleep(200);
  for (const one of open) one.destroy();
  if (lags.length < watchers * changes * 0.95) throw new Error(`only ${lags.length} changes arrived`);
  lags.sort((a, b) => a - b);
  return percentile(lags, 0.99);
}

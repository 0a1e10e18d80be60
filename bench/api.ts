import { scratchDirectory } from '../testing/scratch.js';
import { measureAtRest } from './at-rest.js';
import { measureCreates } from './creates.js';
import { measureFirstOutput } from './first-output.js';
import { measureGets } from './gets.js';
import { fillStore, listInPages } from './list-pages.js';
import { type Bench, type Figure, middle } from './measure.js';
import { classes, priorityClass } from './priority-class.js';
import { send, startBare, startUp, type UpProcess } from './up-process.js';
import { measureWatchers } from './watchers.js';

const objectsToList = 10_000;
const objectsToPage = 100_000;
const lists = 7;

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
    await measureList(print, server, scratch.path);
    await measureWatchers(print, server, scratch.path);
    await measureFirstOutput(print, scratch.path);
    await server.stop();
    await measureAtRest(print, scratch.path, objectsToList);

    await fillStore(scratch.path, objectsToList, objectsToPage);
    // One more was watched.
    const stretches = await listInPages(scratch.path, classes, objectsToPage + 1);
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

async function measureList(print: (figure: Figure) => void, server: UpProcess, dir: string): Promise<void> {
  const path = `${classes}?limit=${objectsToList}`;
  const { bytes } = await send(server, 'GET', path);
  const bare = { ...server, ...(await startBare(dir, bytes)) };
  const [own, limit] = [await listMs(server, path), await listMs(bare, path)];
  await bare.stop();
  print({
    name: `list of ${objectsToList} objects (${Math.round(bytes / 1e6)} MB)`,
    value: own,
    unit: 'ms',
    limit: { value: limit, what: 'as many bytes from Node’s own HTTPS server' },
    target: { atMost: 400 },
  });
}

async function listMs(server: UpProcess, path: string): Promise<number> {
  const tookMs: number[] = [];
  for (let count = 0; count < lists; count++) {
    const at = performance.now();
    await send(server, 'GET', path);
    tookMs.push(performance.now() - at);
  }
  return middle(tookMs);
}

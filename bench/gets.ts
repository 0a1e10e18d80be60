import { type Figure, inTurn, type Load, load, pacedLoad } from './measure.js';
import { rawCaller, rawRequest } from './raw-caller.js';
import { send, type ServerProcess, startBare, type UpProcess } from './up-process.js';

const callers = 64;
const getsPerSecond = 1_000;
const roundMs = 3_000;

/**
 * Gets at a rate far below the limit, beside what Node's own server answers at that rate. All connections are there
 * before: to open one costs as much as many answers, so a client that opens another whenever it would have to wait
 * makes itself and the server slower, waits more and opens more, and measures only that.
 */
export async function measureGets(
  print: (figure: Figure) => void,
  server: UpProcess,
  dir: string,
  path: string,
): Promise<void> {
  const { bytes } = await send(server, 'GET', path);
  const bare = await startBare(dir, bytes);
  const warmed = async ({ port }: ServerProcess) => {
    const open = Array.from({ length: callers }, () => rawCaller(port, server.secureContext));
    const connections = await Promise.all(open);
    const get = async (caller: number): Promise<void> => {
      const status = await connections[caller]?.call(rawRequest('GET', path));
      if (status === undefined || status >= 300) throw new Error(`get answered ${status}`);
    };
    // For the compiler: a cold server at a fixed rate only measures its queue.
    await load(callers, 2_000, get);
    return {
      run: (): Promise<Load> => pacedLoad(callers, getsPerSecond, roundMs, get),
      close: () => connections.forEach((connection) => connection.close()),
    };
  };
  const bareGets = await warmed(bare);
  const ownGets = await warmed(server);
  const [limit, gets] = await inTurn(3, bareGets.run, ownGets.run);
  bareGets.close();
  ownGets.close();
  await bare.stop();
  for (const [name, field] of [
    ['p50', 'p50Ms'],
    ['p99', 'p99Ms'],
  ] as const) {
    print({
      name: `get at ${getsPerSecond.toLocaleString('en-US')}/s, ${name}`,
      value: gets?.[field] ?? 0,
      unit: 'ms',
      limit: { value: limit?.[field] ?? 0, what: 'Node’s own HTTPS server at that rate' },
    });
  }
}

import type { SecureContext } from 'node:tls';
import { scratchDirectory } from '../testing/scratch.js';
import { type Figure, inTurn, type Load, load } from './measure.js';
import { classes, priorityClass } from './priority-class.js';
import { cpuSecondsOf, mainThreadMsOf } from './process-figures.js';
import { rawCaller, rawRequest } from './raw-caller.js';
import { send, type ServerProcess, startBare, startUp } from './up-process.js';

const callers = 64;
const roundMs = 4_000;

/** Creates, or what Node's own server answers to the same bytes, over 64 connections. */
async function createLoad(
  server: ServerProcess,
  secureContext: SecureContext,
  names: () => string,
): Promise<Load> {
  const open = Array.from({ length: callers }, () => rawCaller(server.port, secureContext));
  const connections = await Promise.all(open);
  const result = await load(callers, roundMs, async (caller) => {
    const status = await connections[caller]?.call(rawRequest('POST', classes, priorityClass(names())));
    if (status !== 201) throw new Error(`create answered ${status}`);
  });
  for (const connection of connections) connection.close();
  return result;
}

export async function measureCreates(print: (figure: Figure) => void): Promise<void> {
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
  const before = { made, cpuS: cpuSecondsOf(server.pid), mainMs: mainThreadMsOf(server.pid) };
  const [limit, creates] = await inTurn(
    3,
    () => createLoad(bare, server.secureContext, () => 'w'),
    () => createLoad(server, server.secureContext, next),
  );
  const perCreate = (ms: number): number => ms / (made - before.made);
  print({
    name: 'creates, 64 callers, middle of three rounds',
    value: creates?.perSecond ?? 0,
    unit: '/s',
    limit: { value: limit?.perSecond ?? 0, what: 'bare answers of Node’s own HTTPS server' },
    target: { atLeast: 3_000 },
  });
  print({ name: 'creates, p99', value: creates?.p99Ms ?? 0, unit: 'ms' });
  print({
    name: 'creates, CPU of the server’s process for each',
    value: perCreate((cpuSecondsOf(server.pid) - before.cpuS) * 1000),
    unit: 'ms',
  });
  print({
    name: '  of that its main thread',
    value: perCreate(mainThreadMsOf(server.pid) - before.mainMs),
    unit: 'ms',
  });
  await bare.stop();
  await server.stop();
  scratch.remove();
}

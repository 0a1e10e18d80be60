import type { Duplex } from 'node:stream';
import type { Env } from '../../env/env.js';
import type { TerminalSize } from '../../model/sessions.js';
import { latestOnly } from '../latest-only.js';
import type { ExecEars, ExecRequest, ExecSession } from '../runner.js';
import { killedCode } from './container-end.js';
import type { ContainerEngine } from './container-engine.js';
import { StreamFrames } from './stream-frames.js';

const looksMax = 100;
const lookEveryMs = 50;
const nothing = (): void => undefined;

/** A command in a container, through its engine. */
export function containerExec(
  { engine, env }: { readonly engine: ContainerEngine; readonly env: Env },
  container: string,
  { command, tty }: ExecRequest,
  ears: ExecEars,
): ExecSession {
  let exec: string | undefined;
  let isKilled = false;
  const began = (async (): Promise<Duplex> => {
    exec = await engine.createExec(container, command, tty !== undefined);
    const socket = await engine.startExec(exec, tty !== undefined);
    if (tty !== undefined) await engine.resizeExec(exec, tty.columns, tty.rows).catch(nothing);
    return socket;
  })();
  const run = async (): Promise<void> => {
    const socket = await began;
    const frames = new StreamFrames();
    const ended = new Promise<void>((resolve) => {
      socket.once('end', resolve);
      socket.once('close', resolve);
    });
    socket.on('data', (chunk: Buffer) => {
      // A terminal is one stream.
      if (tty !== undefined) return ears.onOutput('stdout', chunk);
      for (const { stream, bytes } of frames.take(chunk)) ears.onOutput(stream, bytes);
    });
    await ended;
    socket.destroy();
    // Its output is over before the engine knows how it ended.
    for (let looks = 0; looks < looksMax; looks++) {
      const state = await engine.execState(exec ?? '');
      if (!state.isRunning) return ears.onExit(isKilled ? killedCode : state.exitCode);
      await env.sleep(lookEveryMs);
    }
    ears.onExit(undefined, 'it goes on, and nobody hears it any more');
  };
  run().catch((error: unknown) =>
    ears.onExit(
      undefined,
      isKilled ? 'it was ended' : error instanceof Error ? error.message : String(error),
    ),
  );
  const resize = async ({ columns, rows }: TerminalSize): Promise<void> => {
    await began.catch(nothing);
    if (exec !== undefined) await engine.resizeExec(exec, columns, rows).catch(nothing);
  };
  const resized = latestOnly((size: TerminalSize, done) => void resize(size).finally(done));
  const withSocket = (act: (socket: Duplex) => void): void => void began.then(act, nothing);
  return {
    write: (bytes, onTaken) => void began.then((socket) => socket.write(bytes, () => onTaken()), onTaken),
    end: () => withSocket((socket) => socket.end()),
    resize: (columns, rows) => resized({ columns, rows }),
    pause: () => withSocket((socket) => socket.pause()),
    resume: () => withSocket((socket) => socket.resume()),
    kill: () => {
      isKilled = true;
      withSocket((socket) => void end(engine, exec ?? '', socket));
    },
  };
}

/** Engines have no call for this: the process is on this machine, and its number is known while it runs. */
async function end(engine: ContainerEngine, exec: string, socket: Duplex): Promise<void> {
  try {
    const { isRunning, pid } = await engine.execState(exec);
    if (isRunning && pid > 0) process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself meanwhile, or the engine is away.
  } finally {
    socket.destroy();
  }
}

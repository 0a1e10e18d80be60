import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Podman, startPodman } from '../../testing/podman.js';
import { scratchDirectory } from '../../testing/scratch.js';
import { ContainerRunner } from '../agent/drivers/container-runner.js';
import { KeptLogs } from '../agent/logs/kept-logs.js';
import type { Launch, Run, RunEnd, Runner, RunnerEvent } from '../agent/runner.js';
import { bytesOf, parseRecord } from '../model/log-record.js';
import { env, launch, shell } from './process-runner.fixture.js';
import { openProcessRunner } from './process-runner.js';

const soon = { timeout: 60_000, interval: 50 };

type Closable = Runner & { close(): void | Promise<void>; end(graceSeconds: number): Promise<void> };

interface Way {
  readonly name: Runner['name'];
  open(dir: string, logs: KeptLogs): Promise<Closable>;
  launch(uid: string, script: string, execution: number): Launch;
}

let podman: Podman;
let number = 0;
const newUid = (): string => `c${(number += 1)}-${process.pid}`;

const ways: readonly Way[] = [
  {
    name: 'process',
    open: (dir) => {
      const ignored = (): void => undefined;
      return openProcessRunner({ dir, node: 'n2', env, onProblem: ignored, onJournalLost: ignored });
    },
    launch: (uid, script, execution) => launch(uid, shell(script), { execution, env: { WORD: 'said' } }),
  },
  {
    name: 'container',
    open: (_, logs) =>
      ContainerRunner.open({
        ...{
          socketPath: podman.socketPath,
          node: 'n2',
          agent: 'here',
          logs,
          env,
          onProblem: () => undefined,
        },
      }),
    launch: (uid, script, execution) => {
      const template = { run: { container: { image: podman.image } } };
      return launch(uid, shell(script), { execution, template, env: { WORD: 'said' } });
    },
  },
];

/** What whoever stands above a runner relies on, whichever it is. */
describe.each(ways)('a runner of the way $name', { timeout: 180_000 }, (way) => {
  let scratch: ReturnType<typeof scratchDirectory>;
  let logs: KeptLogs;
  let runner: Closable;
  let events: RunnerEvent[];
  beforeAll(async () => {
    if (way.name === 'container') podman = await startPodman();
  }, 180_000);
  afterAll(async () => {
    if (way.name === 'container') await podman.stop();
  }, 180_000);
  beforeEach(async () => {
    scratch = scratchDirectory('runner-contract');
    logs = new KeptLogs({ dir: join(scratch.path, 'logs'), env, isLive: () => true });
    await open();
  });
  afterEach(async () => {
    await runner.end(0);
    await runner.close();
    scratch.remove();
  });

  const open = async (): Promise<void> => {
    const heard: RunnerEvent[] = (events = []);
    runner = await way.open(scratch.path, logs);
    runner.attach((event) => heard.push(event));
  };
  const start = (uid: string, script: string, execution = 1): void =>
    runner.start(way.launch(uid, script, execution));
  const runOf = (uid: string): Run | undefined => [...runner.list()].find((run) => run.uid === uid);
  const running = async (uid: string): Promise<string> =>
    vi.waitUntil(() => {
      const state = runOf(uid)?.state;
      return state?.at === 'Running' ? state.driverId : false;
    }, soon);
  const ended = async (uid: string, execution = 1): Promise<RunEnd> =>
    vi.waitUntil(() => {
      const run = runOf(uid);
      return run?.execution === execution && run.state.at === 'Ended' ? run.state.end : false;
    }, soon);
  const logOf = async (uid: string): Promise<string> => {
    const replica = { tenant: 't', replica: `w-${uid}-1`, uid };
    const { signal } = new AbortController();
    let text = '';
    try {
      for await (const line of logs.read({ replica, options: {}, isOver: () => true, signal })) {
        const record = parseRecord(line);
        if (record !== undefined) text += bytesOf(record).toString();
      }
    } catch {
      return '';
    }
    return text;
  };

  it('runs a command with its environment, keeps what it writes, and tells its exit code once', async () => {
    const uid = newUid();
    start(uid, 'echo $WORD; exit 3');
    expect(await ended(uid)).toEqual({ reason: 'Exited', exitCode: 3 });
    await vi.waitFor(async () => expect(await logOf(uid)).toBe('said\n'), soon);
    const told = events.filter((event) => event.uid === uid && event.kind !== 'Step');
    expect(told.map(({ kind }) => kind)).toEqual(['Running', 'Ended']);
  });

  it('starts an execution at most once, and the next in its place', async () => {
    const uid = newUid();
    start(uid, 'echo one');
    start(uid, 'echo again');
    await ended(uid);
    start(uid, 'echo never');
    start(uid, 'echo two', 2);
    expect(await ended(uid, 2)).toEqual({ reason: 'Exited', exitCode: 0 });
    await vi.waitFor(async () => expect(await logOf(uid)).toBe('two\n'), soon);
  });

  it('asks to stop, ends what does not when the grace is over, and says of what is not there that it has ended', async () => {
    const [polite, deaf, nothing] = [newUid(), newUid(), newUid()];
    start(polite, 'trap "exit 5" TERM; echo up; while :; do sleep 0.1; done');
    start(deaf, 'trap "" TERM; echo up; while :; do sleep 0.1; done');
    for (const uid of [polite, deaf])
      await vi.waitFor(async () => expect(await logOf(uid)).toBe('up\n'), soon);
    runner.stop(polite, 60);
    runner.stop(deaf, 1);
    runner.stop(nothing, 0);
    expect(await ended(polite)).toEqual({ reason: 'Stopped', exitCode: 5 });
    expect(await ended(deaf)).toEqual({ reason: 'Stopped', exitCode: 137 });
    await vi.waitUntil(() => events.some(({ uid, kind }) => uid === nothing && kind === 'Ended'), soon);
  });

  it('runs commands beside it, with input, and tells their exit codes', async () => {
    const uid = newUid();
    start(uid, 'sleep 600');
    await running(uid);
    let output = '';
    const code = await new Promise<number | undefined>((resolve) => {
      const session = runner.exec(
        uid,
        { command: shell('cat; exit 4') },
        {
          onOutput: (_, bytes) => (output += Buffer.from(bytes).toString()),
          onExit: resolve,
        },
      );
      session.write(Buffer.from('typed'), () => session.end());
    });
    expect([code, output]).toEqual([4, 'typed']);
  });

  it('[L4] is found again by the next life of the agent: what runs, what ended meanwhile, and nothing that was forgotten', async () => {
    const [lasting, over, forgotten] = [newUid(), newUid(), newUid()];
    start(lasting, 'sleep 600');
    start(over, 'sleep 2; exit 9');
    start(forgotten, 'true');
    const id = await running(lasting);
    await vi.waitUntil(() => events.some(({ uid, kind }) => uid === over && kind === 'Running'), soon);
    await ended(forgotten);
    runner.forget(forgotten);
    await runner.close();
    await env.sleep(3_000);
    await open();
    expect(await running(lasting)).toBe(id);
    expect(await ended(over)).toMatchObject({ reason: 'Exited', exitCode: 9 });
    await vi.waitUntil(() => runOf(forgotten) === undefined, soon);
    start(over, 'never', 1);
    expect(runOf(over)?.state.at).toBe('Ended');
  });
});

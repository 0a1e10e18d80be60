import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Podman, startPodman } from '../../../testing/podman.js';
import { scratchDirectory } from '../../../testing/scratch.js';
import { realEnv } from '../../env/real.js';
import { bytesOf, parseRecord } from '../../model/log-record.js';
import type { NodeBinding } from '../../model/node-stream.js';
import type { Template } from '../../model/parts/template.js';
import { KeptLogs } from '../logs/kept-logs.js';
import type { ExecSession, Launch, Run, RunnerEvent } from '../runner.js';
import { ContainerRunner } from './container-runner.js';

const soon = { timeout: 60_000, interval: 100 };

describe('ContainerRunner on Podman', { timeout: 180_000 }, () => {
  const env = realEnv();
  let podman: Podman;
  let scratch: ReturnType<typeof scratchDirectory>;
  let logs: KeptLogs;
  let runner: ContainerRunner;
  let events: RunnerEvent[];
  let number = 0;
  beforeAll(async () => {
    podman = await startPodman();
  }, 120_000);
  afterAll(() => podman.stop());
  beforeEach(async () => {
    scratch = scratchDirectory('container-runner');
    logs = new KeptLogs({ dir: scratch.path, env, isLive: () => true });
    await open();
  });
  afterEach(async () => {
    for (const { uid } of runner.list()) {
      runner.stop(uid, 0);
      await ended(uid);
      runner.forget(uid);
    }
    await runner.close();
    scratch.remove();
  });

  const openAs = (agent: string): Promise<ContainerRunner> => {
    const { socketPath } = podman;
    return ContainerRunner.open({ socketPath, node: 'n1', agent, logs, env, onProblem: () => undefined });
  };
  const open = async (): Promise<void> => {
    const heard: RunnerEvent[] = (events = []);
    runner = await openAs('here');
    runner.attach((event) => heard.push(event));
  };
  const newUid = (): string => `u${(number += 1)}-${process.pid}`;
  const launch = (
    uid: string,
    script: string,
    more: { execution?: number; image?: string; resources?: Template['resources']; env?: Launch['env'] } = {},
  ): Launch => {
    const { execution = 1, image = podman.image, resources } = more;
    const binding: NodeBinding & { template: Template } = {
      ...{
        replica: { tenant: 't', name: `r-${uid}`, uid },
        workload: 'w',
        slot: '0',
        revision: 'w-r1',
        fence: '7',
      },
      ...{ type: 'Service', isFenced: false, stage: 'Bound', version: 10 },
      template: { run: { container: { image } }, ...(resources !== undefined && { resources }) },
    };
    const words = { command: ['/bin/sh'], args: ['-c', script], env: more.env ?? {} };
    return { binding, execution, ...words };
  };
  const stateOf = (uid: string): Run['state'] | undefined =>
    [...runner.list()].find((run) => run.uid === uid)?.state;
  const running = async (uid: string): Promise<string> => {
    await vi.waitFor(() => expect(stateOf(uid)?.at).toBe('Running'), soon);
    const state = stateOf(uid);
    return state?.at === 'Running' ? state.driverId : '';
  };
  const ended = async (uid: string) => {
    await vi.waitFor(() => expect(stateOf(uid)?.at).toBe('Ended'), soon);
    const state = stateOf(uid);
    return state?.at === 'Ended' ? state.end : undefined;
  };
  const logOf = async (uid: string): Promise<string> => {
    const signal = new AbortController().signal;
    const replica = { tenant: 't', replica: `r-${uid}`, uid };
    const parts: Buffer[] = [];
    try {
      for await (const line of logs.read({ replica, options: {}, isOver: () => true, signal })) {
        const record = parseRecord(line);
        if (record !== undefined) parts.push(bytesOf(record));
      }
    } catch {
      return '';
    }
    return Buffer.concat(parts).toString();
  };
  const exec = (uid: string, command: string[], tty?: { columns: number; rows: number }) => {
    let output = '';
    let session: ExecSession | undefined;
    const done = new Promise<{ code: number | undefined; output: string }>((resolve) => {
      session = runner.exec(
        uid,
        { command, ...(tty !== undefined && { tty }) },
        {
          onOutput: (_, bytes) => (output += Buffer.from(bytes).toString()),
          onExit: (code) => resolve({ code, output }),
        },
      );
    });
    return { done, session: session as ExecSession, output: () => output };
  };

  it('pulls the image as a step of its own, says its digest, runs it, and tells how it ended', async () => {
    const uid = newUid();
    runner.start(
      launch(uid, 'echo "$GREETING"; echo err >&2; id -u; exit 3', { env: { GREETING: 'hello' } }),
    );
    expect(await ended(uid)).toEqual({ reason: 'Exited', exitCode: 3 });
    expect(events.map(({ kind }) => kind).filter((kind) => kind !== 'Step')).toEqual(['Running', 'Ended']);
    const steps = events.flatMap((event) =>
      event.kind === 'Step' ? [`${event.step} ${event.message}`] : [],
    );
    expect(steps[0]).toBe(`Pulling ${podman.image}`);
    expect(steps.at(-1)).toMatch(/^Pulled .*@sha256:[0-9a-f]{64}$/);
    // Not as root, though the image names no user.
    const lines = (await logOf(uid)).trim().split('\n');
    expect(lines.toSorted()).toEqual(['65534', 'err', 'hello']);
  });

  it('starts an execution at most once, and the next in its place', async () => {
    const uid = newUid();
    runner.start(launch(uid, 'echo one; exit 1'));
    runner.start(launch(uid, 'echo again'));
    await ended(uid);
    runner.start(launch(uid, 'echo never'));
    runner.start(launch(uid, 'echo two', { execution: 2 }));
    await vi.waitFor(() => expect(events.at(-1)).toMatchObject({ kind: 'Ended', execution: 2 }), soon);
    expect(await logOf(uid)).toBe('two\n');
    expect(events.filter(({ kind }) => kind === 'Ended')).toHaveLength(2);
  });

  it('asks it to stop, and ends it when the grace is over', async () => {
    const [polite, deaf] = [newUid(), newUid()];
    runner.start(launch(polite, 'trap "echo bye; exit 5" TERM; echo up; while :; do sleep 0.1; done'));
    runner.start(launch(deaf, 'trap "" TERM; echo up; while :; do sleep 0.1; done'));
    for (const uid of [polite, deaf]) {
      await running(uid);
      await vi.waitFor(async () => expect(await logOf(uid)).toBe('up\n'), soon);
    }
    runner.stop(polite, 30);
    runner.stop(deaf, 1);
    expect(await ended(polite)).toEqual({ reason: 'Stopped', exitCode: 5 });
    expect(await ended(deaf)).toEqual({ reason: 'Stopped', exitCode: 137 });
    expect(await logOf(polite)).toBe('up\nbye\n');
    const nothing = newUid();
    runner.stop(nothing, 0);
    await vi.waitFor(() => expect(events.at(-1)).toMatchObject({ kind: 'Ended', uid: nothing }), soon);
  });

  it.each([
    ['an image that the registry does not have', () => podman.missing, 'ImageNotFound'],
    ['a registry that does not answer', () => '127.0.0.1:1/app:1', 'ImagePullFailed'],
  ])('says of %s what is wrong', async (_, image, reason) => {
    const uid = newUid();
    runner.start(launch(uid, 'true', { image: image() }));
    expect(await ended(uid)).toMatchObject({ reason });
  });

  it('says that a program is not in the image', async () => {
    const uid = newUid();
    runner.start({ ...launch(uid, ''), command: ['/no/such/program'], args: [] });
    expect(await ended(uid)).toMatchObject({ reason: 'CommandNotFound' });
  });

  it('says that it was ended because it needed more memory than it may have', async () => {
    const uid = newUid();
    runner.start(launch(uid, 'tail /dev/zero', { resources: { memory: '32Mi' } }));
    expect(await ended(uid)).toMatchObject({ reason: 'OutOfMemory' });
  });

  it('runs commands beside it, with input, with a terminal, and ends them', async () => {
    const uid = newUid();
    runner.start(launch(uid, 'sleep 600'));
    await running(uid);
    expect(await exec(uid, ['/bin/sh', '-c', 'id -u; exit 4']).done).toEqual({ code: 4, output: '65534\n' });
    const reader = exec(uid, ['/bin/cat']);
    await new Promise<void>((resolve) => reader.session.write(Buffer.from('typed'), resolve));
    reader.session.end();
    expect(await reader.done).toEqual({ code: 0, output: 'typed' });
    const terminal = exec(uid, ['/bin/sh', '-c', 'test -t 0 && test -t 1 && echo yes'], {
      columns: 91,
      rows: 17,
    });
    expect(await terminal.done).toEqual({ code: 0, output: 'yes\r\n' });
    const long = exec(uid, ['/bin/sh', '-c', 'echo $$; exec sleep 600']);
    await vi.waitFor(() => expect(long.output()).toMatch(/^\d+\n$/), soon);
    long.session.kill();
    expect((await long.done).code).toBe(137);
    const alive = ['/bin/sh', '-c', `kill -0 ${long.output()}`];
    await vi.waitFor(async () => expect((await exec(uid, alive).done).code).toBe(1), soon);
  });

  it('finds what runs and what has ended after the agent was away, with the same ids and no line missing or twice', async () => {
    const [lasting, over] = [newUid(), newUid()];
    runner.start(launch(lasting, 'n=0; while :; do n=$((n+1)); echo $n; sleep 0.05; done'));
    runner.start(launch(over, 'echo begun; sleep 2; echo done; exit 9'));
    const id = await running(lasting);
    await vi.waitUntil(() => events.some(({ uid, kind }) => uid === over && kind === 'Running'), soon);
    await vi.waitFor(async () => expect(await logOf(lasting)).toContain('10\n'), soon);
    await runner.close();
    // While nobody is there one of them ends.
    await env.sleep(3_000);
    await open();
    expect(await running(lasting)).toBe(id);
    expect(await ended(over)).toMatchObject({ reason: 'Exited', exitCode: 9 });
    expect(await logOf(over)).toBe('begun\ndone\n');
    const before = (await logOf(lasting)).split('\n').length;
    await vi.waitFor(
      async () => expect((await logOf(lasting)).split('\n').length).toBeGreaterThan(before + 10),
      soon,
    );
    const numbers = (await logOf(lasting)).trim().split('\n').map(Number);
    expect(numbers).toEqual(numbers.map((_, index) => index + 1));
  });

  it('leaves alone what another agent of the machine has started, also one whose node has the same name', async () => {
    const uid = newUid();
    runner.start(launch(uid, 'sleep 60'));
    await running(uid);
    const other = await openAs('elsewhere');
    expect([...other.list()]).toEqual([]);
    await other.close();
  });

  it('goes on when the engine is started again', async () => {
    const uid = newUid();
    runner.start(launch(uid, 'trap "exit 6" TERM; while :; do sleep 0.1; done'));
    await running(uid);
    await podman.restart();
    runner.stop(uid, 30);
    expect(await ended(uid)).toEqual({ reason: 'Stopped', exitCode: 6 });
  });

  it('measures what it uses', async () => {
    const uid = newUid();
    runner.start(
      launch(uid, 'n=0; while [ $n -lt 300000 ]; do n=$((n+1)); done; sleep 600', {
        resources: { cpu: '100m' },
      }),
    );
    await vi.waitFor(() => expect(runner.usage(uid)?.cpuSeconds).toBeGreaterThan(0.1), soon);
    expect(runner.usage(uid)?.memoryBytes).toBeGreaterThan(0);
  });
});

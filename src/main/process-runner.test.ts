import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { allPids as pids, readOr } from '../agent/process/proc.js';
import type { ProcessRunner } from '../agent/drivers/process-runner.js';
import type { Launch } from '../agent/runner.js';
import type { TerminalSize } from '../model/sessions.js';
import { launch, permitFor, RunnerHome, shell, until } from './process-runner.fixture.js';

/** Processes of this machine that were started with this word. */
const withWord = (word: string): number[] =>
  pids().filter((pid) => readOr(`/proc/${pid}/cmdline`)?.split('\0').includes(word) === true);

const isAlive = (pid: number): boolean => existsSync(`/proc/${pid}`);

let home: RunnerHome;
let runner: ProcessRunner;
beforeEach(async () => {
  home = new RunnerHome();
  runner = await home.open();
});
afterEach(() => home.close());

describe('a process', () => {
  it('runs with its environment in its scratch directory, and its exit code is told', async () => {
    const value = `it's "quoted"\nand $HOME`;
    runner.start(launch('a', shell('printf %s "$WORD" >said; pwd >where; exit 3'), { env: { WORD: value } }));
    expect(await home.ended('a')).toEqual({ reason: 'Exited', exitCode: 3 });
    expect(home.file('a', 'said')).toBe(value);
    expect(home.file('a', 'where')?.trim()).toBe(`${home.dir}/scratch/a`);
  });

  it('that is not there is CommandNotFound, one that is no program is StartFailed', async () => {
    runner.start(launch('a', ['no-such-program']));
    runner.start(launch('b', ['/no/such/file']));
    runner.start(launch('c', ['/etc/passwd']));
    runner.start(
      launch('d', ['true'], {
        template: { run: { process: { command: ['true'], workingDirectory: '/no' } } },
      }),
    );
    expect(await home.ended('a')).toMatchObject({ reason: 'CommandNotFound' });
    expect(await home.ended('b')).toEqual({
      reason: 'CommandNotFound',
      message: 'there is no /no/such/file',
    });
    expect(await home.ended('c')).toEqual({
      reason: 'StartFailed',
      message: '/etc/passwd is not executable',
    });
    expect(await home.ended('d')).toMatchObject({
      reason: 'StartFailed',
      message: 'there is no directory /no to start in',
    });
  });

  it('that is asked to stop ends by itself, with what it says on the way', async () => {
    runner.start(
      launch('a', shell('trap "echo bye >said; exit 0" TERM; touch up; while :; do sleep 0.05; done')),
    );
    await until('it is up', () => home.file('a', 'up') !== undefined);
    runner.stop('a', 60);
    expect(await home.ended('a')).toEqual({ reason: 'Stopped', exitCode: 0 });
    expect(home.file('a', 'said')).toBe('bye\n');
  });

  it('that ignores SIGTERM is ended when the grace is over, with children in sessions of their own', async () => {
    runner.start(
      launch(
        'a',
        shell(
          'trap "" TERM; setsid sh -c "trap \\"\\" TERM; touch up; exec sleep 4321.5" & while :; do sleep 1; done',
        ),
      ),
    );
    const pid = await home.running('a');
    await until('its child is up', () => home.file('a', 'up') !== undefined);
    await until('there is its child', () => processesWith('4321.5').length === 1);
    runner.stop('a', 0.3);
    expect(await home.ended('a')).toMatchObject({ reason: 'Stopped', exitCode: 137 });
    expect(isAlive(pid)).toBe(false);
    expect(processesWith('4321.5')).toEqual([]);
  });

  it('that ends takes with it what it left behind in a session of its own', async () => {
    runner.start(launch('a', shell('setsid sleep 4322.5 & sleep 0.1; exit 0')));
    expect(await home.ended('a')).toMatchObject({ reason: 'Exited', exitCode: 0 });
    expect(processesWith('4322.5')).toEqual([]);
  });

  it('that uses more memory than its limit is OutOfMemory', async () => {
    expect(runner.unenforced).not.toContain('memory');
    const eat = 'a=xxxxxxxxxxxxxxxx; while :; do a=$a$a; done';
    runner.start(launch('a', shell(eat), { template: { resources: { memory: '16Mi', cpu: '1' } } }));
    expect(await home.ended('a')).toMatchObject({ reason: 'OutOfMemory', exitCode: 137 });
  });

  it('that fills its scratch directory is DiskQuotaExceeded', async () => {
    const fill = 'head -c 20000000 /dev/zero >full; exec sleep 4329.5';
    runner.start(launch('a', shell(fill), { template: { scratchLimit: '10M' } }));
    runner.start(launch('b', shell(fill), { template: { scratchLimit: '1Gi' } }));
    expect(await home.ended('a')).toMatchObject({ reason: 'DiskQuotaExceeded', exitCode: 137 });
    expect([...runner.list()].find(({ uid }) => uid === 'b')?.state.at).toBe('Running');
  });

  it('tells by which signal it ended', async () => {
    runner.start(launch('a', shell('kill -SEGV $$')));
    expect(await home.ended('a')).toEqual({ reason: 'Killed', exitCode: 139, message: 'by SIGSEGV' });
  });

  it('is started once for each execution, however often it is asked for', async () => {
    const command = shell('echo x >>count; exec sleep 4323.5');
    runner.start(launch('a', command));
    await home.running('a');
    runner.start(launch('a', command));
    const again = await home.open();
    again.start(launch('a', command));
    expect([...again.list()]).toMatchObject([{ uid: 'a', execution: 1, state: { at: 'Running' } }]);
    await until('it has counted', () => home.file('a', 'count') !== undefined);
    again.stop('a', 0);
    await home.ended('a');
    again.start(launch('a', command));
    again.start(launch('a', shell('echo x >>count'), { execution: 2 }));
    expect(await home.ended('a', 2)).toMatchObject({ reason: 'Exited', exitCode: 0 });
    expect(home.file('a', 'count')).toBe('x\nx\n');
  });

  it('goes on while its agent is away, and how it ended is there when the agent comes back', async () => {
    runner.start(launch('a', shell('touch up; while [ ! -e go ]; do sleep 0.05; done; exit 5')));
    const pid = await home.running('a');
    await until('it is up', () => home.file('a', 'up') !== undefined);
    await runner.close();
    expect(isAlive(pid)).toBe(true);
    writeFileSync(`${home.dir}/scratch/a/go`, '');
    await until('it has ended', () => !isAlive(pid));
    const later = await home.open();
    await until('that is known', () => [...later.list()][0]?.state.at === 'Ended');
    expect([...later.list()]).toMatchObject([{ state: { end: { reason: 'Exited', exitCode: 5 } } }]);
    later.forget('a');
    await until('its files are gone', () => !existsSync(`${home.dir}/scratch/a`));
  });

  it.runIf(process.getuid?.() === 0)(
    'runs as another user where its agent is told so, and owns its scratch',
    async () => {
      chmodSync(home.dir, 0o711);
      const other = await home.open(() => ({ uid: 65_534, gid: 65_534 }));
      other.start(launch('a', shell('id -u >who; id -G >>who; echo word; exit 2')));
      expect(await home.ended('a')).toEqual({ reason: 'Exited', exitCode: 2 });
      expect(home.file('a', 'who')).toBe('65534\n65534\n');
      expect(logText('a')).toContain('"message":"word"');
    },
  );

  it.runIf(process.getuid?.() === 0)(
    'reaches its own home, and nothing of another: neither environment nor output, however alike their users are',
    async () => {
      chmodSync(home.dir, 0o711);
      const other = await home.open(() => ({ uid: 65_534, gid: 65_534 }));
      other.start(launch('red', shell('touch up; exec sleep 4333.5'), { env: { PASSWORD: 'of red' } }));
      await until('it is up', () => home.file('red', 'up') !== undefined);
      const reads = ['environment', 'stdout'].map((name) => `cat ${home.dir}/runs/red/1/${name} && exit 9`);
      const text = `${reads.join('; ')}; echo forged >>${home.dir}/runs/red/1/stdout && exit 8`;
      other.start(
        launch('blue', shell(`${text}; ls ${home.dir}/runs && exit 7; touch "$HOME/own"; exit $?`)),
      );
      expect(await home.ended('blue')).toEqual({ reason: 'Exited', exitCode: 0 });
      expect(home.file('blue', 'own')).toBe('');
    },
  );

  it.runIf(process.getuid?.() === 0)(
    'goes to its working directory as its own user, and commands beside it too',
    async () => {
      await runner.close();
      runner = await home.open(() => ({ uid: 65_534, gid: 65_534 }));
      const inside = join(home.dir, 'closed/open');
      mkdirSync(inside, { recursive: true });
      chmodSync(join(home.dir, 'closed'), 0o700);
      const at = (uid: string, workingDirectory: string): Launch => {
        const command = shell('pwd; exec sleep 4335.5');
        return launch(uid, command, { template: { run: { process: { command, workingDirectory } } } });
      };
      runner.start(at('a', inside));
      expect(await home.ended('a')).toEqual({ reason: 'Exited', exitCode: 126 });
      runner.start(at('b', '/usr'));
      await home.running('b');
      expect(await printed('b', ['pwd'])).toBe('/usr\n');
    },
  );

  it.runIf(process.getuid?.() === 0)('may open its own output by name', async () => {
    const other = await home.open(() => ({ uid: 65_534, gid: 65_534 }));
    other.start(launch('a', shell('echo by name >/dev/stdout')));
    expect(await home.ended('a')).toEqual({ reason: 'Exited', exitCode: 0 });
    expect(logText('a')).toContain('"message":"by name"');
  });

  it('what is not there is said to have stopped', async () => {
    runner.stop('never', 1);
    expect(await home.ended('never', 0)).toMatchObject({ reason: 'Stopped' });
  });

  it('measures what it uses', async () => {
    runner.start(
      launch('a', shell('i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; touch up; exec sleep 4324.5')),
    );
    await until('it is up', () => home.file('a', 'up') !== undefined);
    const usage = await until('its use', () => runner.usage('a'));
    expect(usage.cpuSeconds).toBeGreaterThan(0);
    expect(usage.memoryBytes).toBeGreaterThan(0);
    expect(usage.oomKills).toBe(0);
  });
});

/** Runs a command beside a job to its end; what it printed. */
const printed = (uid: string, command: readonly string[], tty?: TerminalSize): Promise<string> =>
  new Promise((resolve) => {
    let said = '';
    runner.exec(
      uid,
      { command, ...(tty !== undefined && { tty }) },
      {
        onOutput: (_, bytes) => (said += Buffer.from(bytes).toString()),
        onExit: (code, message) => resolve(code === 0 ? said : `${said}${code} ${message}`),
      },
    );
  });

describe('beside a process', () => {
  it('a command has the environment of the job, and nothing of the agent', async () => {
    process.env['SECRET_OF_THE_AGENT'] = 'whatever';
    try {
      runner.start(launch('a', ['sleep', '4334.5'], { env: { WORD: 'hello' } }));
      await home.running('a');
      for (const tty of [undefined, { columns: 80, rows: 24 }]) {
        const said = await printed('a', ['env'], tty);
        const variables = new Map(
          said
            .trim()
            .split(/\r?\n/)
            .map((line) => line.split('=') as [string, string]),
        );
        // Shells add where they are, and a terminal what it is.
        for (const name of ['PWD', 'OLDPWD', '_', 'TERM', 'BERTH_BESIDE']) variables.delete(name);
        expect([...variables.keys()].toSorted()).toEqual(['BERTH_RUN', 'HOME', 'PATH', 'WORD']);
        expect(variables.get('PATH')).toBe('/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin');
        expect(variables.get('HOME')).toBe(`${home.dir}/scratch/a`);
      }
    } finally {
      delete process.env['SECRET_OF_THE_AGENT'];
    }
  });

  it('a command runs in its surroundings', async () => {
    runner.start(launch('a', ['sleep', '4325.5'], { env: { WORD: 'hello' } }));
    await home.running('a');
    const said: string[] = [];
    const code = await new Promise<number | undefined>((resolve) => {
      const session = runner.exec(
        'a',
        { command: shell('echo $WORD; cat; ls /proc | grep -c "^[0-9]"; exit 4') },
        {
          onOutput: (_, bytes) => said.push(Buffer.from(bytes).toString()),
          onExit: resolve,
        },
      );
      session.write(Buffer.from('typed\n'), () => undefined);
      session.end();
    });
    expect(code).toBe(4);
    const [word, typed, processes] = said.join('').split('\n');
    expect([word, typed]).toEqual(['hello', 'typed']);
    // It sees its own and what runs beside it, not the machine's.
    expect(Number(processes)).toBeLessThan(12);
  });

  it('a command is in the control groups of the job, so that the limits are for both', async () => {
    runner.start(launch('a', shell('cat /proc/self/cgroup >own; touch up; exec sleep 4330.5')));
    await until('it is up', () => home.file('a', 'up') !== undefined);
    let said = '';
    const code = await new Promise<number | undefined>((resolve) => {
      runner.exec(
        'a',
        { command: shell('cat own; echo beside:; cat /proc/self/cgroup') },
        { onOutput: (_, bytes) => (said += Buffer.from(bytes).toString()), onExit: resolve },
      );
    });
    expect(code, said).toBe(0);
    const [own = '', beside = ''] = said.split('beside:\n');
    // It has one of its own within one of them, by which it is found.
    expect(beside.replace(/\/beside-.*/, '')).toBe(own);
    expect(own).toContain('berth');
  });

  it.each([undefined, { columns: 80, rows: 24 }])(
    'all of a command ends when it is cut off, also in sessions of its own or deaf to a hangup (terminal: %o)',
    async (tty) => {
      runner.start(launch('a', ['sleep', '4335.5']));
      await home.running('a');
      const text =
        'trap "" HUP; setsid sleep 4336.5 & setsid -f sh -c "sleep 4336.5; :"; echo up; sleep 4336.5';
      await new Promise<void>((resolve) => {
        const onOutput = (_: string, bytes: Uint8Array): void => {
          if (Buffer.from(bytes).toString().includes('up')) session.kill();
        };
        const onExit = (): void => resolve();
        const request = { command: shell(text), ...(tty !== undefined && { tty }) };
        const session = runner.exec('a', request, { onOutput, onExit });
      });
      await until('nothing of it is left', () => withWord('4336.5').length === 0);
      expect(withWord('4335.5')).not.toEqual([]);
    },
  );

  it('a runner that closes ends what runs beside its jobs', async () => {
    runner.start(launch('a', ['sleep', '4337.5']));
    await home.running('a');
    const exited = printed('a', shell('setsid sleep 4338.5 & echo up; sleep 4338.5'));
    await until('it runs', () => withWord('4338.5').length >= 2);
    await runner.close();
    await exited;
    await until('nothing of it is left', () => withWord('4338.5').length === 0);
    expect(withWord('4337.5')).not.toEqual([]);
    // What is left is ended with the next one.
    await home.open();
  });

  it('a person has a terminal', async () => {
    runner.start(launch('a', ['sleep', '4326.5']));
    await home.running('a');
    let said = '';
    const code = await new Promise<number | undefined>((resolve) => {
      runner.exec(
        'a',
        { command: shell('test -t 0 && stty size; exit 3'), tty: { columns: 91, rows: 31 } },
        {
          onOutput: (_, bytes) => (said += Buffer.from(bytes).toString()),
          onExit: resolve,
        },
      );
    });
    expect(said).toContain('31 91');
    expect(code).toBe(3);
  });
});

describe('a supervisor that is stopped', () => {
  it('is said to be, on what waits for it too, also when an agent starts; it goes on when it can', async () => {
    const saidSilent = (): string[] => home.problems.filter((each) => each.includes('has not answered for'));
    runner.start(launch('a', ['sleep', '4331.5']));
    await home.running('a');
    const supervisor = runner.supervisorPid ?? 0;
    process.kill(supervisor, 'SIGSTOP');
    try {
      runner.start(launch('b', ['sleep', '4332.5']));
      await until('it is said', () => saidSilent().length === 1);
      expect(home.events).toContainEqual(
        expect.objectContaining({ kind: 'Step', uid: 'b', step: 'AwaitingSupervisor' }),
      );
      const said = await new Promise<string>((resolve) => {
        runner.exec(
          'a',
          { command: ['echo', 'here'] },
          {
            onOutput: (_, bytes) => resolve(Buffer.from(bytes).toString()),
            onExit: (code, message) => resolve(`${code} ${message}`),
          },
        );
      });
      expect(said).toBe('here\n');
      await runner.close();
      const next = home.open();
      await until('it is said again', () => saidSilent().length === 2);
      process.kill(supervisor, 'SIGCONT');
      await next;
    } finally {
      process.kill(supervisor, 'SIGCONT');
    }
    await home.running('b');
    expect(home.problems).toContain('the supervisor answers again');
  }, 120_000);
});

describe('[S5] a fenced process', () => {
  it('does not start without a permit, nor when it would be over too soon', async () => {
    expect(runner.canFence).toBe(true);
    runner.start(launch('a', ['true'], { isFenced: true }));
    expect(await home.ended('a')).toMatchObject({ reason: 'StartFailed' });
    runner.permit(permitFor(5, 5));
    runner.start(launch('b', ['true'], { isFenced: true }));
    expect(await home.ended('b')).toMatchObject({ reason: 'StartFailed' });
  });

  it('is ended by the supervisor when its permit is over, although the agent is gone', async () => {
    runner.permit(permitFor(3));
    runner.start(launch('a', shell('setsid sleep 4327.5 & exec sleep 4327.5'), { isFenced: true }));
    const pid = await home.running('a');
    await runner.close();
    await until('it is ended', () => !isAlive(pid));
    expect(processesWith('4327.5')).toEqual([]);
    const later = await home.open();
    await until('that is known', () => [...later.list()][0]?.state.at === 'Ended');
    expect([...later.list()]).toMatchObject([{ state: { end: { reason: 'Fenced' } } }]);
  });

  it('dies by the kernel’s hand with its supervisor, sessions of their own included; others are adopted', async () => {
    runner.permit(permitFor(600));
    runner.start(
      launch('once', shell('setsid sleep 4328.5 & touch up; exec sleep 4328.5'), { isFenced: true }),
    );
    runner.start(launch('usual', shell('while :; do echo tick; sleep 0.02; done')));
    const [once, usual] = await Promise.all([home.running('once'), home.running('usual')]);
    await until('its child is up', () => home.file('once', 'up') !== undefined);
    const supervisor = runner.supervisorPid;
    if (supervisor === undefined) throw new Error('no supervisor');
    process.kill(supervisor, 'SIGKILL');
    await until('it is ended', () => !isAlive(once));
    expect(await home.ended('once')).toMatchObject({ reason: 'ExitUnknown' });
    expect(processesWith('4328.5')).toEqual([]);
    await until('there is a successor', () => runner.supervisorPid !== supervisor);
    expect(isAlive(usual)).toBe(true);
    expect([...runner.list()]).toContainEqual(
      expect.objectContaining({ uid: 'usual', state: { at: 'Running', driverId: String(usual) } }),
    );
    const lines = (): number => logText('usual').split('\n').length;
    const before = lines();
    await until('its output is read on', () => lines() > before + 5);
    process.kill(usual, 'SIGKILL');
    expect(await home.ended('usual')).toMatchObject({ reason: 'ExitUnknown' });
  });
});

const logText = (uid: string): string =>
  readFileSync(`${home.dir}/logs/t/w-${uid}-1_${uid}/1-1.jsonl`, 'utf8');

/** Processes of this machine with such a word on their command line. */
function processesWith(word: string): number[] {
  return pids().filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(word);
    } catch {
      return false;
    }
  });
}

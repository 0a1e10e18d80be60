import { describe, expect, it } from 'vitest';
import { plusMs } from '../../env/instant.js';
import { binding } from '../session.fixture.js';
import { openKeptDriver } from './runner.fixture.js';

const run = { process: { command: ['work', '$(BERTH_EXECUTION)'] } };
const probed = (more: object = {}) => ({
  template: { run, readiness: { http: { port: 'http', path: '/ready' }, periodSeconds: 5 }, ...more },
  ports: { http: 20_000 },
});

describe('the driver that keeps jobs up', () => {
  it('starts a job once, and says that it is ready when it runs and has no probe', async () => {
    const { driver, runner, events, run: pass } = openKeptDriver();
    driver.start(binding('a', { template: { run } }));
    driver.start(binding('a', { template: { run } }));
    await pass(100);
    expect(runner.launches.map(({ command }) => command)).toEqual([['work', '1']]);
    expect(events).toEqual(['Started 1', 'Ready']);
    await pass(3_600_000);
    expect(events).toHaveLength(2);
  });

  it('asks for readiness sooner until it passes, then in its period, and tells changes alone', async () => {
    const { driver, events, network, run: pass } = openKeptDriver();
    network.problem = 'refused';
    driver.start(binding('a', probed()));
    await pass(1_000);
    expect(network.asked.length).toBeGreaterThanOrEqual(3);
    expect(network.asked[0]).toEqual({ host: '127.0.0.1', port: 20_000, path: '/ready', timeoutMs: 1_000 });
    expect(events).toEqual(['Started 1', 'Step WaitingForReadiness refused']);
    network.problem = undefined;
    await pass(10_000);
    expect(events.slice(2)).toEqual(['Ready']);
    network.asked.length = 0;
    network.problem = 'answered with 503';
    await pass(60_000);
    expect(network.asked.length).toBeGreaterThanOrEqual(11);
    expect(network.asked.length).toBeLessThanOrEqual(13);
    expect(events.slice(3)).toEqual(['NotReady answered with 503']);
    network.problem = undefined;
    await pass(10_000);
    expect(events.slice(4)).toEqual(['Ready']);
  });

  it('restarts what exits, with pauses, until its budget is spent, and says why', async () => {
    const { driver, runner, events, run: pass } = openKeptDriver();
    driver.start(binding('a', { template: { run, restart: { budget: 2, windowSeconds: 600 } } }));
    for (let exit = 0; exit < 3; exit++) {
      await pass(10_000);
      runner.ends('a', { reason: 'Exited', exitCode: 3 });
    }
    await pass(60_000);
    expect(events).toEqual([
      ...['Started 1', 'Ready', 'Step Restarting exited with 3; restart 1 of 2'],
      ...['Started 2', 'Ready', 'Step Restarting exited with 3; restart 2 of 2'],
      ...['Started 3', 'Ready', 'Exited RestartBudgetSpent 3'],
    ]);
    expect(runner.launches.map(({ execution, command }) => [execution, command?.[1]])).toEqual([
      [1, '1'],
      [2, '2'],
      [3, '3'],
    ]);
  });

  it('restarts what its liveness probe finds dead, by a command that fails or takes too long', async () => {
    const { driver, runner, events, run: pass } = openKeptDriver();
    const liveness = { exec: { command: ['alive', '$(BERTH_SLOT)'] }, periodSeconds: 1, failureThreshold: 2 };
    driver.start(binding('a', { template: { run, liveness, terminationGraceSeconds: 4 } }));
    await pass(5_000);
    expect(events).toEqual(['Started 1', 'Ready']);
    const commands: (readonly string[])[] = [];
    runner.execCode = (command) => (commands.push(command), 1);
    await pass(2_500);
    expect(commands[0]).toEqual(['alive', '0']);
    expect(runner.stops).toEqual(['a 4']);
    runner.execCode = () => undefined;
    await pass(4_000);
    expect(runner.stops).toEqual(['a 4', 'a 4']);
    expect(events.filter((event) => event.startsWith('Step'))).toEqual([
      'Step Restarting LivenessFailed: alive exited with 1; restart 1 of 5',
      'Step Restarting LivenessFailed: alive took longer than 1 s; restart 2 of 5',
    ]);
  });

  it('[L5] gives up what is not ready in time, and ends it first', async () => {
    const { driver, runner, events, network, run: pass } = openKeptDriver();
    network.problem = 'refused';
    driver.start(binding('a', probed({ startDeadlineSeconds: 30 })));
    await pass(29_000);
    expect(runner.stops).toEqual([]);
    await pass(2_000);
    expect(runner.stops).toEqual(['a 8']);
    expect(events.at(-1)).toBe('Exited StartDeadlinePassed 143');
  });

  it('[S5] restarts a fenced job only while it is permitted to start', async () => {
    const { driver, runner, env, run: pass } = openKeptDriver();
    const permit = (): void => {
      const inMs = (ms: number) => plusMs(env.clock.boot(), ms);
      driver.permit({ startUntil: inMs(110_000), killAt: inMs(118_000), overAt: inMs(120_000) });
    };
    permit();
    driver.start(binding('a', { template: { run }, isFenced: true }));
    await pass(115_000);
    runner.ends('a', { reason: 'Killed' });
    await pass(60_000);
    expect(runner.launches).toHaveLength(1);
    permit();
    await pass(1_000);
    expect(runner.launches).toHaveLength(2);
  });

  it('says what it cannot run', async () => {
    const { driver, events, runner, run: pass } = openKeptDriver();
    driver.start(binding('a', { template: { run: { container: { image: 'x' } } } }));
    await pass(10);
    expect(events).toEqual(['Exited StartFailed']);
    expect(runner.launches).toEqual([]);
  });

  it('starts no process of a tenant that its node does not run processes of, and restarts none', async () => {
    const { events, runner, restart, run: pass } = openKeptDriver();
    const { tenant } = binding('a', {}).replica;
    restart().start(binding('before', { template: { run } }));
    await pass(100);
    const driver = restart(['default']);
    driver.start(binding('a', { template: { run } }));
    driver.adopt(binding('before', { template: { run, restart: { budget: 1, windowSeconds: 600 } } }));
    await pass(100);
    expect(events.splice(0)).toEqual(['Started 1', 'Ready', 'Exited StartFailed']);
    runner.ends('before', { reason: 'Exited', exitCode: 1 });
    await pass(60_000);
    expect(events.at(-1)).toBe('Exited RestartBudgetSpent');
    expect(runner.launches).toHaveLength(1);
    restart([tenant]).start(binding('b', { template: { run } }));
    await pass(100);
    expect(runner.launches).toHaveLength(2);
  });

  it('[L4] another life finds what runs, probes it, and counts its executions on', async () => {
    const { driver, runner, events, network, restart, run: pass } = openKeptDriver();
    driver.start(binding('a', probed()));
    await pass(1_000);
    driver.stop('nobody', 1);
    await pass(10);
    expect(events).toEqual(['Started 1', 'Ready', 'Exited Stopped']);
    const next = restart();
    expect(next.adopt(binding('a', { ...probed(), stage: 'Serving' }))).toBe('Ready');
    expect(next.adopt(binding('b', { ...probed(), stage: 'Serving' }))).toBe('Gone');
    network.problem = 'refused';
    await pass(20_000);
    expect(events.slice(3)).toEqual(['NotReady refused']);
    runner.ends('a', { reason: 'Exited', exitCode: 1 });
    await pass(2_000);
    expect(events.slice(4, 6)).toEqual(['Step Restarting exited with 1; restart 1 of 5', 'Started 2']);
  });

  it.each([
    ['a service is restarted', 'Service', 1, 'Step Restarting exited with 1; restart 1 of 5'],
    ['a batch is done', 'Batch', 0, 'Exited Completed 0'],
  ] as const)('[L4] what ended while nobody looked: %s', async (_, type, exitCode, expected) => {
    const { driver, runner, events, restart, run: pass } = openKeptDriver();
    driver.start(binding('a', { type, template: { run } }));
    await pass(100);
    const next = restart();
    runner.attach(() => undefined);
    runner.ends('a', { reason: 'Exited', exitCode });
    next.attach(
      (event) => events.push(event.kind),
      () => undefined,
    );
    const last = restart();
    expect(last.adopt(binding('a', { type, template: { run }, stage: 'Ready' }))).toBe('Running');
    await pass(10);
    expect(events.at(-1)).toBe(expected);
  });

  it('keeps what ended until it is forgotten, and ends what is not wanted first', async () => {
    const { driver, runner, restart, run: pass } = openKeptDriver();
    for (const uid of ['done', 'goes', 'left']) driver.start(binding(uid, { template: { run } }));
    await pass(100);
    driver.stop('done', 1);
    await pass(100);
    expect([...driver.list()]).toContain('done');
    driver.forget('done');
    driver.stop('goes', 1);
    driver.forget('goes');
    expect(runner.forgotten).toEqual(['done']);
    await pass(100);
    expect(runner.forgotten).toEqual(['done', 'goes']);
    // Of a life that knows nothing of it.
    const next = restart();
    next.stop('left', 1);
    next.forget('left');
    await pass(100);
    expect(runner.forgotten).toEqual(['done', 'goes', 'left']);
    expect([...next.list()]).toEqual([]);
  });

  it('[S5] does not say that something is gone before its runner knows what it has, and says when it does', async () => {
    const { runner, events, restart, run: pass } = openKeptDriver();
    let answer = (): void => undefined;
    runner.awaiting = new Promise((resolve) => {
      answer = resolve;
    });
    const driver = restart();
    const bound = binding('a', { template: { run }, stage: 'Ready' });
    expect(driver.adopt(bound)).toBe('NotKnown');
    // Another way of running things, of which all is known.
    expect(driver.adopt(binding('b', { template: { run: { container: { image: 'i' } } } }))).toBe('Gone');
    runner.awaiting = undefined;
    answer();
    await pass(10);
    expect(events).toEqual(['Found']);
    expect(driver.adopt(bound)).toBe('Gone');
  });
});

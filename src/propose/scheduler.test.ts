import { describe, expect, it } from 'vitest';
import { VirtualTime } from '../env/virtual.js';
import { BerthError } from '../model/errors.js';
import type { DecisionSpec } from '../model/kinds/decision.js';
import type { Leading, LeadingTerm } from '../model/ports.js';
import { objectKey, statusKey } from '../model/records.js';
import type { PendingReplica } from './contract.js';
import { Scheduler } from './scheduler.js';
import { CountingCore, MapRecords, ScriptedAuthority } from './small-cell.fixture.js';

const batching = { proposalsPerBatch: 512, batchesMax: 4 };

function open() {
  const world = new VirtualTime({ seed: 1 });
  const records = new MapRecords();
  const authority = new ScriptedAuthority(records);
  const decisions: { name: string; tenant: string; spec: DecisionSpec }[] = [];
  const gaveUp: string[] = [];
  const problems: string[] = [];
  const core = new CountingCore(records);
  const stop = new AbortController();
  const leading: Leading = {
    run: async (lead, signal) => {
      const term = new AbortController();
      signal.addEventListener('abort', () => term.abort(), { once: true });
      const giveUp = (why: string): void => {
        gaveUp.push(why);
        term.abort();
      };
      await lead({ epoch: { cell: 1, number: 1 }, signal: term.signal, giveUp } satisfies LeadingTerm);
    },
  };
  records.lead(1);
  const machine = world.machine('s');
  const scheduler = new Scheduler({
    ...{ authority: authority.port, records, env: machine.env, leading, shard: 0, shards: 1 },
    ...{ policyRevision: 'test', batching, name: 's', server: 'srv', newCore: () => core },
    decisions: { newName: () => `d${decisions.length}`, append: (decision) => void decisions.push(decision) },
    onProblem: (problem) => void problems.push(problem),
  });
  world.spawn(machine, 's', () => scheduler.run(stop.signal));
  const forMs = (ms: number): Promise<unknown> => world.run(world.nowMs + ms);
  return { world, records, authority, decisions, gaveUp, problems, core, scheduler, stop, forMs };
}

const ids = ({ proposals }: ScriptedAuthority): readonly string[] =>
  proposals.map(({ operation }) => operation);

describe('Scheduler', () => {
  it('[L1] binds what waits when it starts and what comes later, and keeps a decision with the answers', async () => {
    const { records, authority, decisions, core, scheduler, forMs } = open();
    records.offer(10, 0);
    for (const name of ['r1', 'r2']) records.queue(name);
    await forMs(100);
    expect(['r1', 'r2'].map((name) => records.statusOf(name)?.stage)).toEqual(['Bound', 'Bound']);
    records.queue('r3');
    await forMs(100);
    expect(records.statusOf('r3')?.stage).toBe('Bound');
    expect(new Set(ids(authority)).size).toBe(3);
    expect(authority.proposals[0]).toMatchObject({
      ...{ node: 'n', decision: 'd0', policyRevision: 'test', snapshotRevision: '4' },
      actor: { kind: 'scheduler', name: 's', lease: { name: 'scheduler', epoch: { cell: 1, number: 1 } } },
    });
    expect(decisions.map(({ spec }) => spec.choices?.length)).toEqual([2, 1]);
    expect(decisions[0]).toMatchObject({
      tenant: 'a',
      spec: {
        ...{ result: 'Placed', server: 'srv', scheduler: { name: 's' } },
        choices: [{ replica: 'r1', node: 'n', outcome: 'Committed', attempts: 1 }, { replica: 'r2' }],
      },
    });
    expect([core.assumed.size, scheduler.term?.queue.size, scheduler.term?.underWay]).toEqual([0, 0, 0]);
  });

  it('[L1] a turn that runs out of time goes on in the next: nobody is parked or told to wait', async () => {
    const { records, authority, decisions, core, forMs } = open();
    const propose = core.propose.bind(core);
    core.propose = (turn, at) => {
      // At first it has time for nobody, then for one each time.
      const most = core.turns < 3 ? 0 : 1;
      const result = propose({ ...turn, replicas: turn.replicas.slice(0, most) }, at);
      return { ...result, later: turn.replicas.slice(most) };
    };
    records.offer(3, 0);
    for (const name of ['r1', 'r2', 'r3', 'r4']) records.queue(name);
    await forMs(50);
    expect(authority.proposals.map(({ replica }) => replica.name)).toEqual(['r1', 'r2', 'r3']);
    expect(decisions.filter(({ spec }) => spec.result === 'Placed')).toHaveLength(3);
    expect(authority.postponed).toEqual(['r4 NodeFull']);
  });

  it('[L1] a turn that runs out of time after it has told somebody to wait goes on in the next', async () => {
    const { records, authority, core, forMs } = open();
    const propose = core.propose.bind(core);
    core.propose = (turn, at) => {
      const result = propose(turn, at);
      if (core.turns > 1) return result;
      for (const { replica } of result.placements) core.unassume(replica);
      // The first waits for what comes free; for the others nobody was looked for yet.
      const [replica, ...later] = turn.replicas as [PendingReplica, ...PendingReplica[]];
      const wait = { replica, reason: 'NodeFull', message: 'full', reasons: ['NodeFull'] } as const;
      return { ...result, placements: [], waits: [wait], later };
    };
    records.offer(2, 0);
    for (const name of ['r1', 'r2']) records.queue(name);
    await forMs(1_000);
    expect(authority.proposals.map(({ replica }) => replica.name).toSorted()).toEqual(['r1', 'r2']);
  });

  it('sends an operation whose outcome is not known again under its id, and proposes nothing else meanwhile', async () => {
    const { records, authority, forMs } = open();
    records.offer(10, 0);
    authority.answer = () => 'Lose';
    records.queue('r1');
    await forMs(3_000);
    expect(authority.calls).toBeGreaterThan(2);
    expect(new Set(ids(authority)).size).toBe(1);
    authority.answer = () => 'Commit';
    await forMs(20_000);
    expect(new Set(ids(authority)).size).toBe(1);
    expect(records.statusOf('r1')?.stage).toBe('Bound');
  });

  it('reads back first: what has landed is not sent again', async () => {
    const { records, authority, forMs } = open();
    records.offer(10, 0);
    authority.answer = () => 'LoseAfterCommit';
    records.queue('r1');
    await forMs(60_000);
    expect(authority.calls).toBe(1);
  });

  it('[L2] queues a rejected bind again after a backoff, under another id, and says why it waits', async () => {
    const { records, authority, core, forMs } = open();
    records.offer(10, 0);
    const rejected = { kind: 'Rejected', reason: 'GateClosed', message: 'closed', revision: '1' } as const;
    authority.answer = () => (authority.proposals.length < 4 ? rejected : 'Commit');
    records.queue('r1');
    await forMs(40);
    expect(authority.calls).toBe(1);
    expect(core.assumed.size).toBe(0);
    expect(authority.postponed).toEqual(['r1 GateClosed']);
    await forMs(10_000);
    expect(records.statusOf('r1')?.stage).toBe('Bound');
    expect(new Set(ids(authority)).size).toBe(4);
    expect(authority.postponed).toEqual(['r1 GateClosed']);
  });

  it('[L8] waits for an authority that cannot be reached, and an outage does not multiply what is sent', async () => {
    const { records, authority, forMs } = open();
    records.offer(10_000, 0);
    authority.answer = () => 'Throw';
    for (let at = 0; at < 5_000; at++) records.queue(`r${at}`);
    await forMs(120_000);
    expect(authority.calls).toBeLessThan(200);
    expect(authority.proposals.length).toBeLessThan(60_000);
    authority.answer = () => 'Commit';
    await forMs(30_000);
    for (let at = 0; at < 5_000; at++) expect(records.statusOf(`r${at}`)?.stage).toBe('Bound');
  });

  it('[L8] waits for it in the same way where others have to leave first', async () => {
    const { records, authority, core, forMs } = open();
    records.offer(1_000, 0);
    core.isFull = true;
    authority.answer = () => 'Throw';
    for (let at = 0; at < 500; at++) records.queue(`r${at}`);
    await forMs(120_000);
    expect(authority.calls).toBeLessThan(100);
    authority.answer = () => 'Commit';
    await forMs(30_000);
    for (let at = 0; at < 500; at++) expect(records.statusOf(`r${at}`)?.stage).toBe('Scheduled');
  });

  it('[L6][L9] tells every replica of a class that finds no place why, once, and is quiet then', async () => {
    const { records, authority, core, forMs } = open();
    records.offer(0, 0);
    for (let at = 0; at < 3_000; at++) records.queue(`r${at}`);
    await forMs(10_000);
    expect(new Set(authority.postponed)).toEqual(
      new Set(Array.from({ length: 3_000 }, (_, at) => `r${at} NodeFull`)),
    );
    expect(authority.postponed).toHaveLength(3_000);
    records.queue('late');
    await forMs(1_000);
    expect(authority.postponed.at(-1)).toBe('late NodeFull');
    const { turns } = core;
    await forMs(300_000);
    expect(authority.postponed).toHaveLength(3_001);
    expect(core.turns - turns).toBeLessThanOrEqual(6);
    expect(authority.calls).toBe(0);
  });

  it('keeps one receipt of what it tries in vain again and again, and another after ten minutes', async () => {
    const { records, core, decisions, forMs } = open();
    records.offer(1, 1);
    records.queue('r1');
    await forMs(301_000);
    expect(core.turns).toBeGreaterThan(4);
    expect(decisions.map(({ spec }) => spec.result)).toEqual(['NotPlaced']);
    await forMs(400_000);
    expect(decisions).toHaveLength(2);
    records.offer(2, 1);
    await forMs(100);
    expect(decisions.map(({ spec }) => spec.result)).toEqual(['NotPlaced', 'NotPlaced', 'Placed']);
  });

  it('wakes what waits when a change could cure it', async () => {
    const { records, core, forMs } = open();
    records.offer(1, 1);
    records.queue('r1');
    await forMs(1_000);
    const { turns } = core;
    records.offer(1, 1);
    await forMs(1_000);
    expect(core.turns).toBe(turns);
    records.offer(1, 0);
    await forMs(100);
    expect(records.statusOf('r1')?.stage).toBe('Bound');
  });

  it('[S8] gives up its term when its epoch is over, and goes on when only a node has registered again', async () => {
    const { records, authority, gaveUp, forMs } = open();
    records.offer(10, 0);
    const stale = {
      kind: 'Rejected',
      reason: 'StaleEpoch',
      message: 'epoch 1.1 is over',
      revision: '1',
    } as const;
    authority.answer = () => stale;
    records.queue('r1');
    await forMs(1_000);
    expect(gaveUp).toEqual([]);
    records.lead(2);
    await forMs(20_000);
    expect(gaveUp).toEqual(['epoch 1.1 is over']);
  });

  it('binds a replica that holds capacity where its hold is, once its victims have left', async () => {
    const { records, authority, forMs } = open();
    records.put({ '/e/n': { epoch: { cell: 1, number: 7 }, state: 'Open', operation: 'o' } });
    const hold = (awaits: readonly object[]): void =>
      records.put({
        [objectKey('Reservation', 'a', 'h')]: {
          spec: { owner: { uid: 'uid-r1' }, intent: 'Preemption', node: 'n' },
        },
        [statusKey('Reservation', 'a', 'h')]: { status: { state: 'Held', awaits } },
      });
    records.queue('r1');
    records.stage('r1', { stage: 'Scheduled', hold: 'h' });
    hold([{ replica: 'victim' }]);
    await forMs(5_000);
    expect(authority.calls).toBe(0);
    hold([]);
    await forMs(100);
    expect(authority.proposals).toMatchObject([
      { node: 'n', nodeEpoch: { number: 7 }, replica: { uid: 'uid-r1' } },
    ]);
    expect(records.statusOf('r1')?.stage).toBe('Bound');
  });

  it('[L6] a hold that the authority cannot even take is refused: it says so, and is planned anew', async () => {
    const { records, authority, core, forMs } = open();
    const propose = core.propose.bind(core);
    core.propose = (turn, at) => ({
      ...{ ...propose(turn, at), waits: [] },
      plans: turn.replicas.map((replica) => ({
        ...{ replica, node: 'n', nodeEpoch: { cell: 1, number: 1 }, victims: [], frees: {} },
      })),
    });
    const asked: string[] = [];
    authority.reserve = ({ operation }) => {
      asked.push(operation);
      return Promise.reject(new BerthError('InvalidTransaction', 'too large'));
    };
    records.queue('r1');
    await forMs(2_000);
    expect(records.statusOf('r1')?.conditions).toMatchObject([
      { reason: 'NotTaken', message: 'InvalidTransaction: too large' },
    ]);
    expect(asked.length).toBeGreaterThan(1);
    expect(new Set(asked).size).toBe(asked.length);
  });

  it('leaves the workloads of other shards alone', async () => {
    const world = new VirtualTime({ seed: 1 });
    const records = new MapRecords();
    records.offer(100, 0);
    const bound: string[] = [];
    for (const shard of [0, 1]) {
      const authority = new ScriptedAuthority(records);
      const machine = world.machine(`shard-${shard}`);
      const leading: Leading = {
        run: (lead, signal) => lead({ epoch: { cell: 1, number: 1 }, signal, giveUp: () => undefined }),
      };
      const scheduler = new Scheduler({
        ...{ authority: authority.port, records, env: machine.env, leading, shard, shards: 2 },
        ...{
          policyRevision: 'test',
          batching,
          name: 's',
          server: 'srv',
          newCore: () => new CountingCore(records),
        },
        ...{ decisions: { newName: () => 'd', append: () => undefined }, onProblem: () => undefined },
      });
      authority.answer = ({ replica }) => {
        bound.push(`${shard} ${replica.name}`);
        return 'Lose';
      };
      world.spawn(machine, 's', () => scheduler.run(new AbortController().signal));
    }
    for (let at = 0; at < 20; at++) records.queue(`r${at}`, `work-${at}`);
    await world.run(world.nowMs + 50);
    const names = new Set(bound.map((line) => line.split(' ')[1]));
    expect(names.size).toBe(20);
    expect(new Set(bound).size).toBe(20);
    expect(new Set(bound.map((line) => line.split(' ')[0])).size).toBe(2);
  });
});

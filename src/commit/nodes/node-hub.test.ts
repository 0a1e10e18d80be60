import { describe, expect, it } from 'vitest';
import type { Replica } from '../../model/kinds/replica.js';
import type { NodeHears, NodeLine } from '../../model/node-stream.js';
import type { Epoch } from '../../model/records.js';
import { CachedObjects } from '../../objects/cached-objects.js';
import { openTestCell, type TestCell } from '../test-cell.fixture.js';
import { NodeHub } from './node-hub.js';

/** A node that hears. */
class Ears {
  readonly heard: NodeHears[] = [];
  isFull = false;
  hear(message: NodeHears): void {
    this.heard.push(message);
  }
  hasRoom(): boolean {
    return !this.isFull;
  }
  get last(): NodeHears | undefined {
    return this.heard.at(-1);
  }
  /** The bindings heard, as `NAME STAGE…` or `gone`; of the whole set, `whole: …`, or in parts `begins: …` to `… ends`. */
  get bindings(): string[] {
    return this.heard.flatMap((message) => {
      if (message.kind !== 'bindings') return [];
      const all = message.bindings.map(({ replica, stage }) => `${replica.name} ${stage}`);
      const { begins, ends } = message;
      const isWhole = begins === true && ends === true;
      const before = isWhole ? ['whole:'] : begins === true ? ['begins:'] : [];
      const after = !isWhole && ends === true ? ['ends'] : [];
      return [[...before, ...all, ...message.gone.map(() => 'gone'), ...after].join(' ')];
    });
  }
}

const stageIn = ({ cache }: TestCell): unknown =>
  cache.get({ kind: 'Replica', namespace: 't', name: 'api-0-1' })?.object.status?.['stage'];

const settle = async (isSo: () => boolean): Promise<void> => {
  for (let turn = 0; turn < 2_000 && !isSo(); turn++) await new Promise((resolve) => setTimeout(resolve, 1));
  expect(isSo()).toBe(true);
};

/** Objects that seem to be as old as a test says. */
class LaggingObjects extends CachedObjects {
  isLagging = false;
  override get version(): string {
    return this.isLagging ? '0' : super.version;
  }
}

async function openHub(nodes = 1) {
  const transactions: number[] = [];
  const cell: TestCell = await openTestCell({
    isAudited: false,
    authority: { onTransaction: (members) => transactions.push(members) },
  });
  const objects = new LaggingObjects({ objects: cell.objects, cache: cell.cache, manager: 'test' });
  const hub = new NodeHub({
    ...{ objects, authority: cell.authority, env: cell.env },
    ...{ nodes: () => nodes },
  });
  const stop = new AbortController();
  hub.start(stop.signal);
  const open = async (node: string, epoch: Epoch, ears = new Ears()): Promise<[Ears, NodeLine]> => {
    const line = hub.open({ node, epoch, id: 1 }, ears);
    await settle(() => ears.heard.length > 1 || ears.last?.kind === 'stale');
    return [ears, line];
  };
  return { cell, hub, objects, open, transactions, stop: () => stop.abort() };
}

describe('NodeHub', () => {
  it('acknowledges opening as a renewal, tells the whole set, then changes and what is gone', async () => {
    const { cell, open } = await openHub();
    await cell.tenant('t');
    const epoch = await cell.node('n1');
    const workload = await cell.workload('t', 'api', { cpu: '1' });
    const first = await cell.incarnate(workload, '0');
    const second = await cell.incarnate(workload, '1');
    await cell.bind(first, 'n1');
    const [ears, line] = await open('n1', epoch);
    expect(ears.heard[0]).toMatchObject({
      kind: 'renewed',
      id: 1,
      fence: { permitSeconds: 120 },
      renewSeconds: 5,
    });
    expect(ears.bindings).toEqual(['whole: api-0-1 Bound']);
    await cell.bind(second, 'n1');
    await settle(() => ears.bindings.length === 2);
    expect(ears.heard[1]).toMatchObject({ bindings: [{ template: { resources: { cpu: '1' } } }] });
    expect(ears.last).toMatchObject({ bindings: [{ replica: { name: 'api-1-1' }, isFenced: false }] });
    const { fence = '' } = (await cell.status(second)).binding ?? {};
    const report = { replica: { tenant: 't', name: 'api-1-1', uid: second.metadata.uid }, fence };
    line.say({
      kind: 'report',
      id: 7,
      report: { ...report, stage: 'Starting', reason: 'Started', operation: 'r1' },
    });
    await settle(() => ears.heard.some(({ kind }) => kind === 'reported'));
    await cell.evict(second);
    await settle(() => ears.bindings.includes('api-1-1 Releasing'));
    const released = { ...report, stage: 'Released', reason: 'Stopped', operation: 'r2' } as const;
    line.say({ kind: 'report', id: 8, report: released });
    await settle(() => ears.bindings.at(-1) === 'gone');
    const answer = ears.heard.find((each) => each.kind === 'reported' && each.id === 8);
    expect(answer).toMatchObject({ outcome: { kind: 'Committed', result: { stage: 'Released' } } });
  });

  it('[S5] tells nothing from before the renewal that opened the stream: the set counts as whole', async () => {
    const { cell, hub, objects } = await openHub();
    const epoch = await cell.node('n1');
    const ears = new Ears();
    objects.isLagging = true;
    const line = hub.open({ node: 'n1', epoch, id: 1 }, ears);
    await settle(() => ears.last?.kind === 'renewed');
    line.say({ kind: 'renew', id: 2 });
    await settle(() => ears.heard.length === 2);
    expect(ears.heard.map(({ kind }) => kind)).toEqual(['renewed', 'renewed']);
    objects.isLagging = false;
    await settle(() => ears.bindings.length > 0);
    expect(ears.bindings).toEqual(['whole:']);
  });

  it('tells a node to stop what serves only after it has left the endpoints', async () => {
    const { cell, open } = await openHub();
    await cell.tenant('t');
    const epoch = await cell.node('n1');
    const workload = await cell.workload('t', 'api', { cpu: '1' });
    const replica = await cell.incarnate(workload, '0');
    await cell.bind(replica, 'n1');
    for (const stage of ['Starting', 'Ready'] as const) await cell.report(replica, stage);
    await cell.move(replica, 'endpoints-controller', 'Serving');
    await settle(() => stageIn(cell) === 'Serving');
    const [ears] = await open('n1', epoch);
    await cell.evict(replica);
    await settle(() => stageIn(cell) === 'Releasing');
    // One that comes now is not told either.
    const [again] = await open('n1', epoch);
    expect([ears.bindings, again.bindings]).toEqual([['whole: api-0-1 Serving'], ['whole: api-0-1 Serving']]);
    await cell.authority.publish({
      ...{ actor: cell.actors['endpoints-controller'], tenant: 't', workload: 'api' },
      ...{ workloadUid: workload.metadata.uid, endpoints: { addresses: [] } },
      leaving: [{ tenant: 't', name: 'api-0-1', uid: replica.metadata.uid }],
    });
    await settle(() => again.bindings.at(-1) === 'api-0-1 Releasing');
  });

  it('[S8] tells whoever speaks under an epoch that is over, also before it speaks', async () => {
    const { cell, open } = await openHub();
    const old = await cell.node('n1');
    const [ears] = await open('n1', old);
    const epoch = await cell.node('n1');
    await settle(() => ears.last?.kind === 'stale');
    const [late] = await open('n1', old);
    expect(late.heard.map(({ kind }) => kind)).toEqual(['stale']);
    const [fresh] = await open('n1', epoch);
    expect(fresh.heard[0]).toMatchObject({ kind: 'renewed' });
  });

  it('keeps nothing for a node that does not read: it gets the whole set when there is room', async () => {
    const { cell, open } = await openHub();
    await cell.tenant('t');
    const epoch = await cell.node('n1');
    const [ears, line] = await open('n1', epoch);
    ears.isFull = true;
    const workload = await cell.workload('t', 'api');
    for (const slot of ['0', '1', '2']) await cell.bind(await cell.incarnate(workload, slot), 'n1');
    line.say({ kind: 'renew', id: 2 });
    await settle(() => ears.last?.kind === 'renewed');
    expect(ears.bindings).toEqual(['whole:']);
    ears.isFull = false;
    line.resume();
    expect(ears.bindings.at(-1)).toBe('whole: api-0-1 Bound api-1-1 Bound api-2-1 Bound');
  });

  it('tells a template once for its revision, and no two at once; when the last of a revision is gone, anew', async () => {
    const { cell, open } = await openHub();
    await cell.tenant('t');
    const epoch = await cell.node('n1');
    const replicas: Replica[] = [];
    const api = await cell.workload('t', 'api');
    for (const workload of [api, await cell.workload('t', 'web')])
      for (const slot of ['0', '1']) {
        const replica = await cell.incarnate(workload, slot);
        await cell.bind(replica, 'n1');
        replicas.push(replica);
      }
    const [ears] = await open('n1', epoch);
    expect(ears.bindings).toEqual([
      'begins: api-0-1 Bound api-1-1 Bound',
      'web-0-1 Bound web-1-1 Bound ends',
    ]);
    const templates = (): string[] =>
      ears.heard.flatMap((message) =>
        message.kind === 'bindings'
          ? message.bindings.flatMap(({ replica, template }) =>
              template === undefined ? [] : [replica.name],
            )
          : [],
      );
    expect(templates()).toEqual(['api-0-1', 'web-0-1']);
    for (const replica of replicas.slice(0, 2)) {
      await cell.evict(replica);
      await cell.report(replica, 'Released');
    }
    await settle(() => ears.bindings.filter((each) => each === 'gone').length === 2);
    const again = await cell.incarnate(api, '2');
    await cell.bind(again, 'n1');
    await settle(() => ears.bindings.at(-1) === 'api-2-1 Bound');
    expect(templates()).toEqual(['api-0-1', 'web-0-1', 'api-2-1']);
  });

  it('goes on with the whole set where it was when there is room again, with what changed meanwhile', async () => {
    const { cell, open } = await openHub();
    await cell.tenant('t');
    const epoch = await cell.node('n1');
    const bound = async (name: string): Promise<Replica> => {
      const replica = await cell.incarnate(await cell.workload('t', name), '0');
      await cell.bind(replica, 'n1');
      return replica;
    };
    const first = await bound('a');
    const second = await bound('b');
    const third = await bound('c');
    const ears = new Ears();
    // There is room for one part at a time.
    const hear = ears.hear.bind(ears);
    ears.hear = (message) => {
      hear(message);
      ears.isFull = message.kind === 'bindings';
    };
    const [, line] = await open('n1', epoch, ears);
    expect(ears.bindings).toEqual(['begins: a-0-1 Bound']);
    await cell.evict(first);
    await cell.evict(third);
    await cell.report(third, 'Released');
    await bound('d');
    await settle(() => cell.cache.get({ kind: 'Replica', namespace: 't', name: 'd-0-1' }) !== undefined);
    for (let turn = 0; turn < 6; turn++) {
      ears.isFull = false;
      line.resume();
    }
    expect(ears.bindings).toEqual([
      ...['begins: a-0-1 Bound', 'b-0-1 Bound a-0-1 Releasing', 'd-0-1 Bound ends'],
    ]);
    expect(second.metadata.name).toBe('b-0-1');
  });

  it('ends a line when the node opens another, when it says too much at once, and when the server stops', async () => {
    const { cell, open, stop } = await openHub();
    const epoch = await cell.node('n1');
    const [first] = await open('n1', epoch);
    const [second, line] = await open('n1', epoch);
    expect(first.last).toEqual({ kind: 'closed', message: 'the node has opened another stream' });
    const report = {
      replica: { tenant: 't', name: 'x', uid: 'x' },
      fence: '1',
      stage: 'Ready',
      reason: 'R',
    } as const;
    for (let id = 0; id < 65; id++)
      line.say({ kind: 'report', id, report: { ...report, operation: `o${id}` } });
    await settle(() => second.last?.kind === 'closed');
    const [third] = await open('n1', epoch);
    stop();
    expect(third.last).toMatchObject({ kind: 'closed', message: 'the server stops' });
  });

  it('keeps what replicas use in memory alone, of those bound to the node, and as long as they are', async () => {
    const { cell, hub, open, transactions } = await openHub();
    await cell.tenant('t');
    const epoch = await cell.node('n1');
    const workload = await cell.workload('t', 'api', { cpu: '1' });
    const replica = await cell.incarnate(workload, '0');
    await cell.bind(replica, 'n1');
    const [ears, line] = await open('n1', epoch);
    const { uid } = replica.metadata;
    const sample = (measuredMs: number, cpuSeconds: number) => ({
      ...{ uid, restarts: 1, oomKills: 0 },
      running: { measuredMs, cpuSeconds, memoryBytes: 4_096 },
    });
    const renewals = (): number => ears.heard.filter(({ kind }) => kind === 'renewed').length;
    transactions.length = 0;
    line.say({ kind: 'renew', id: 2, usage: [sample(1_000, 3), { ...sample(0, 0), uid: 'elsewhere' }] });
    const { cpuSeconds, memoryBytes, cpuCores } = hub.usage('t').items[0] ?? {};
    expect([cpuSeconds, memoryBytes, cpuCores]).toEqual([3, 4_096, undefined]);
    await settle(() => renewals() === 2);
    line.say({ kind: 'renew', id: 3, usage: [sample(5_000, 4)] });
    await settle(() => renewals() === 3);
    expect(hub.usage(undefined)).toMatchObject({
      items: [{ namespace: 't', name: 'api-0-1', workload: 'api', node: 'n1', restarts: 1, cpuCores: 0.25 }],
      ...{ more: 0, unanswered: [] },
    });
    expect(hub.usage('other').items).toEqual([]);
    // One of one member for each renewal, as without: what is used costs none.
    expect(transactions).toEqual([1, 1]);
    const { fence = '' } = (await cell.status(replica)).binding ?? {};
    await cell.evict(replica);
    const ref = { tenant: 't', name: 'api-0-1', uid };
    const released = { stage: 'Released', reason: 'Stopped', operation: 'r' } as const;
    line.say({ kind: 'report', id: 4, report: { replica: ref, fence, ...released } });
    await settle(() => ears.bindings.at(-1) === 'gone');
    expect(hub.usage('t').items).toEqual([]);
  });

  it('forgets what replicas use with the line that told it', async () => {
    const { cell, hub, open } = await openHub();
    await cell.tenant('t');
    const epoch = await cell.node('n1');
    const replica = await cell.incarnate(await cell.workload('t', 'api'), '0');
    await cell.bind(replica, 'n1');
    const [, line] = await open('n1', epoch);
    const usage = [{ uid: replica.metadata.uid, restarts: 0, oomKills: 2 }];
    line.say({ kind: 'renew', id: 2, usage });
    expect(hub.usage('t').items).toMatchObject([{ oomKills: 2 }]);
    const [, next] = await open('n1', epoch);
    line.say({ kind: 'renew', id: 3, usage });
    expect(hub.usage('t').items).toEqual([]);
    next.say({ kind: 'renew', id: 2, usage });
    expect(hub.usage('t').items).toHaveLength(1);
    next.close();
    expect(hub.usage('t').items).toEqual([]);
  });

  it('renews many nodes in few transactions and asks a large fleet to renew less often', async () => {
    const { cell, hub, transactions } = await openHub(5_000);
    const nodes = Array.from({ length: 1_000 }, (_, index) => `n${index}`);
    const epochs = await Promise.all(nodes.map((node) => cell.node(node)));
    transactions.length = 0;
    const all = nodes.map((node, index) => {
      const ears = new Ears();
      hub.open({ node, epoch: epochs[index] as Epoch, id: 1 }, ears);
      return ears;
    });
    await settle(() => all.every(({ heard }) => heard.length > 0));
    expect(all[0]?.heard[0]).toMatchObject({ renewSeconds: 10 });
    expect(hub.counters).toMatchObject({ lines: 1_000, renewals: 1_000 });
    expect(transactions.length).toBeLessThan(25);
  });
});

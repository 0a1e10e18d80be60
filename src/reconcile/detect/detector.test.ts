import { describe, expect, it } from 'vitest';
import { VirtualTime } from '../../env/virtual.js';
import { FakeObjects, objectOf } from '../../model/fake-objects.fixture.js';
import type { Node } from '../../model/kinds/node.js';
import type { Authority, Gate, Outcome } from '../../model/ports.js';
import { FreshnessObserver } from '../../observe/freshness-observer.js';
import type { Acting } from '../runtime/acting.js';
import { Detector } from './detector.js';

const epoch = { cell: 1, number: 1 };

function openDetector(leadAfterMs = 0) {
  const time = new VirtualTime({ seed: 1 });
  const { env } = time.machine('server');
  const objects = new FakeObjects();
  const gates: string[] = [];
  let answer: Outcome<undefined> | undefined;
  const gate = (input: Gate): Promise<Outcome<undefined>> => {
    gates.push(`${Math.round(time.nowMs / 1_000)}s ${input.node} ${input.reachability}`);
    if (answer !== undefined) return Promise.resolve(answer);
    const node = objects.get<Node>('Node', undefined, input.node);
    const state = input.reachability === 'Fresh' ? 'Open' : 'Closed';
    if (node !== undefined)
      objects.put({ ...node, status: { ...node.status, reachability: input.reachability, gate: { state } } });
    return Promise.resolve({ kind: 'Committed', result: undefined, revision: '1' });
  };
  const register = (name: string): void => {
    objects.put(
      objectOf('Node', undefined, name, {
        status: { epoch, reachability: 'Fresh', gate: { state: 'Open' } },
      }),
    );
    renew(name);
  };
  const renew = (name: string): void =>
    objects.put(objectOf('Lease', undefined, `node-${name}`, { spec: { durationSeconds: 40, epoch } }));
  const observer = new FreshnessObserver({ objects, env });
  const stop = new AbortController();
  observer.start(stop.signal);
  const acting: Acting = {
    ...{ objects, env, authority: { gate } as unknown as Authority },
    ...{ report: () => undefined, giveUp: () => undefined, actor: { kind: 'detector', name: 'test' } },
  };
  env.after(leadAfterMs, () => void new Detector(observer).run(acting, stop.signal));
  const run = (forMs: number) => time.run(time.nowMs + forMs);
  return { gates, register, renew, run, objects, refuse: (outcome: typeof answer) => (answer = outcome) };
}

describe('the detector', () => {
  it('closes the gate of a node that is late, says when its lease is over, and opens it when it is heard of', async () => {
    const { gates, register, renew, run } = openDetector();
    register('silent');
    register('well');
    for (let renewal = 0; renewal < 9; renewal++) {
      await run(5_000);
      renew('well');
    }
    expect(gates).toEqual(['15s silent Suspect', '41s silent Unknown']);
    renew('silent');
    await run(1_000);
    expect(gates.at(-1)).toBe('46s silent Fresh');
    expect(gates).toHaveLength(3);
  });

  it('tries again what was refused or is not known, and does not flood', async () => {
    const { gates, register, run, refuse } = openDetector();
    register('silent');
    refuse({ kind: 'Rejected', reason: 'NodeChanged', message: 'registered again', revision: '1' });
    await run(16_000);
    const tried = gates.length;
    expect(tried).toBeGreaterThan(1);
    expect(tried).toBeLessThan(6);
    refuse(undefined);
    await run(2_000);
    expect(gates.length).toBe(tried + 1);
  });

  it('calls nobody late before a full window under a new leader', async () => {
    const { gates, register, run } = openDetector(100_000);
    register('silent');
    await run(113_000);
    expect(gates).toEqual([]);
    await run(30_000);
    expect(gates).toEqual(['115s silent Suspect', '141s silent Unknown']);
  });

  it('thinks no better of a node under a new leader before it is heard of', async () => {
    const { gates, register, renew, run, objects } = openDetector(100_000);
    register('silent');
    const node = objects.get<Node>('Node', undefined, 'silent');
    if (node !== undefined)
      objects.put({
        ...node,
        status: { ...node.status, reachability: 'Unknown', gate: { state: 'Closed' } },
      });
    await run(150_000);
    expect(gates).toEqual([]);
    renew('silent');
    await run(1_000);
    expect(gates).toEqual(['151s silent Fresh']);
  });
});

import { describe, expect, it } from 'vitest';
import type { DecisionSpec } from '../model/kinds/decision.js';
import { builtinPolicy } from '../model/policy.js';
import { CellCore } from './cell-core.js';
import { TestPicture } from './cell.fixture.js';
import { OpenDecision } from './open-decision.js';
import { replayDecision } from './replay-decision.js';

const options = { policy: builtinPolicy, seed: 1, ages: () => 0, plugins: [] };
const inTime = { version: '1', ageMs: 0, mayGoOn: () => true };

/** So many full nodes, each with two that may be asked to leave, and one that asks for a whole node and ranks above. */
function opened(nodes: number) {
  const core = new CellCore(options);
  const picture = new TestPicture(core.cell);
  picture.put('PriorityClass', undefined, 'high', { value: 10 });
  picture.workload('low', { cpu: '4' }, { spec: { disruption: { maxUnavailable: 100 } } });
  const low = picture.pending('low', 2 * nodes);
  for (let at = 0; at < nodes; at++) {
    const node = `n${at + 1}`;
    picture.node(node, { cpuMilli: 8_000, account: { used: { cpuMilli: 8_000, replicas: 2 } } });
    for (const { name } of low.slice(2 * at, 2 * at + 2))
      picture.replicaStatus(name, {
        stage: 'Serving',
        charge: { tenant: 'bank', node, rank: 'Borrowed', amounts: { cpu: '4' }, workload: 'low' },
      });
  }
  const run = { process: { command: ['work'] } };
  const classKey = picture.workload('urgent');
  picture.put('WorkloadRevision', 'bank', 'urgent-r1', {
    ...{ workload: 'urgent', revision: 1, priorityClassName: 'high' },
    template: { run, resources: { cpu: '8' } },
  });
  const turn = (replicas: number) => ({ classKey, replicas: picture.pending('urgent', replicas) });
  return { core, turn };
}

/** The decision of a turn as it is kept once the authority has answered. */
function kept({ decision, placements, plans }: ReturnType<CellCore['propose']>): DecisionSpec | undefined {
  const specs: DecisionSpec[] = [];
  const sink = { newName: () => 'd', append: ({ spec }: { spec: DecisionSpec }) => void specs.push(spec) };
  const decider = { name: 's', server: 'srv', epoch: { cell: 1, number: 1 } };
  const open = new OpenDecision(sink, { tenant: 'bank', draft: decision, decider, at: '' });
  for (const placement of placements) open.propose({ ...placement, operation: placement.replica.name });
  for (const plan of plans) open.proposeRoom({ ...plan, operation: plan.replica.name }, plan.victims);
  open.proposed();
  for (const { replica } of [...placements, ...plans])
    open.answer(replica.name, { kind: 'Committed', result: {}, revision: '2' }, 1);
  return specs[0];
}

describe('the decision of a turn that makes room', () => {
  it('says on which node and who leaves it, counts as placed, and is no other choice when it is run again', () => {
    const { core, turn } = opened(1);
    const spec = kept(core.propose(turn(1), inTime));
    expect(spec?.reason).toBeUndefined();
    expect(spec).toMatchObject({ result: 'Placed', rejections: [{ reason: 'NodeFull', count: 1 }] });
    expect(spec?.choices).toMatchObject([
      {
        ...{ replica: 'urgent-0-1', node: 'n1', outcome: 'Committed' },
        leaving: { count: 2, replicas: ['low-0-1', 'low-1-1'] },
      },
    ]);
    expect(replayDecision(spec ?? {})).toMatchObject({
      differences: [],
      roomMade: [{ replica: 'urgent-0-1', node: 'n1' }],
    });
  });

  it('says that for others no room can be made, and is not about those for whom there was no time', () => {
    const full = opened(1);
    expect(kept(full.core.propose(full.turn(2), inTime))).toMatchObject({
      result: 'Partly',
      reason: 'NodeFull',
    });
    const { core, turn } = opened(2);
    const result = core.propose(turn(2), { ...inTime, mayGoOn: () => false });
    expect([result.plans.length, result.later.length, result.waits.length]).toEqual([1, 1, 0]);
    expect(result.decision).toMatchObject({
      result: 'Placed',
      inputs: { replicas: [{ name: 'urgent-0-1' }] },
    });
    expect(replayDecision(kept(result) ?? {}).differences).toEqual([]);
  });

  it('run again, is another choice if a node takes the replica as it is', () => {
    const { core, turn } = opened(1);
    const spec = kept(core.propose(turn(1), inTime));
    const inputs = spec?.inputs as { readonly records: readonly (readonly [string, object])[] };
    const records = inputs.records.map(([key, value]) => [
      key,
      key === '/a/node/n1' ? { ...value, used: {} } : value,
    ]);
    const { differences } = replayDecision({ ...spec, inputs: { ...inputs, records } });
    expect(differences).toMatchObject([{ replica: 'urgent-0-1', node: 'n1', decided: undefined }]);
  });
});

import { builtinPolicy } from '../model/policy.js';
import { decided } from '../objects/decisions/decision.fixture.js';
import { TestPicture } from '../propose/cell.fixture.js';
import { propose } from '../propose/propose.js';

/** A decision of the core as a server would show it, with the nodes that it chose renamed. */
export function decisionJson(nodeFor: (chosen: string) => string): string {
  const picture = new TestPicture();
  picture.node('n1');
  picture.node('n2', { cpuMilli: 4_000 });
  const classKey = picture.workload('score', { cpu: '2' });
  const replicas = picture.pending('score', 3);
  const { decision, placements } = propose(
    picture.cell,
    { classKey, replicas },
    { policy: builtinPolicy, seed: 7, ages: () => undefined },
  );
  const choices = placements.map(({ replica: { name, uid }, node }) => ({
    ...{ replica: name, uid, node: nodeFor(node), operation: `place/${name}` },
  }));
  const name = 'alpha.00mh1gvxyz0';
  const { spec } = decided(name, 'score', [], { ...decision, choices }, 'bank');
  return JSON.stringify({
    ...{ apiVersion: 'berth.dev/v1', kind: 'Decision', spec },
    metadata: {
      ...{ name, namespace: 'bank', uid: 'x', resourceVersion: '1', generation: 1 },
      creationTimestamp: '2026-01-31T13:05:00Z',
    },
  });
}

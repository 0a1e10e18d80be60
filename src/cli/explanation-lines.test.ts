import { expect, it } from 'vitest';
import { realEnv } from '../env/real.js';
import type { Explanation } from '../model/explanation.js';
import { explanationLines } from './explanation-lines.js';

it('an explanation names as many nodes as fit in 120 columns, counts the others, and shows the patch of a cure', () => {
  const nodes = Array.from({ length: 20 }, (_, index) => `node-in-a-region-far-away-general-${index}`);
  const explanation: Explanation = {
    ...{ target: { kind: 'Workload', tenant: 'bank', name: 'score' }, answer: 'it cannot be placed' },
    ...{ state: 'CannotBePlaced', stages: { Queued: 1 }, notes: [], unanswered: [], decisions: [] },
    placement: {
      ...{ replica: 'score-0-1', revision: '9', isPlaceable: false, nodes: 1_020 },
      fits: { count: 0, nodes: [] },
      room: { node: 'n3', evictions: 2 },
      rejections: [
        { reason: 'RegionNotAllowed', count: 1_000, nodes, message: 'node a is in region us' },
        { reason: 'Tainted', count: 20, nodes: ['n1', 'n2'], message: 'node n1 has a taint' },
      ],
      cures: [
        {
          ...{ words: 'let it go to us', kind: 'Workload', namespace: 'bank', name: 'score' },
          change: { type: 'Patch', patch: { spec: { placement: { regions: ['us'] } } } },
        },
      ],
    },
  };
  const lines = explanationLines(explanation, realEnv().clock.wall());
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(120);
  expect(lines.join('\n')).toContain(`
  the scheduler makes room on n3: 2 have to leave
  1000 RegionNotAllowed: ${nodes.slice(0, 2).join(', ')}, … (998 more)
      node a is in region us
    20 Tainted: n1, n2, … (18 more)
      node n1 has a taint

What would help
  - let it go to us
      kubectl patch workload score -n bank --type merge -p '{"spec":{"placement":{"regions":["us"]}}}'
`);
});

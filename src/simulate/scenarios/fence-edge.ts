import type { Scenario } from '../scenario.js';
import { unlessSo } from '../world/cell-facts.js';
import { edgeConditions } from '../world/edge-conditions.js';
import { noFaults } from '../world/fault-plan.js';
import { FenceEdge } from '../world/fence-edge.js';

/** The fence with the smallest window that its inequality allows, against all that it has to bear. */
export const fenceEdge: Scenario = {
  name: 'fence-edge',
  about:
    'one node is cut off, at the edge of what the fence has to bear: slow and fast clocks, slow kills, late acknowledgements, suspend; its successor starts the moment the window is over',
  chaosMs: 230_000,
  settleMs: 70_000,
  // All that goes wrong is in the conditions.
  plan: () => noFaults,
  begin: (world) => {
    const edge = new FenceEdge(world, edgeConditions(world.wire.random.stream('edge')));
    return () => unlessSo([edge.hasSucceeded, 'the successor never began']);
  },
  mustCheck: ['S5'],
  mustOccur: [],
};

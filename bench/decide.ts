import { nodeAccountKey } from '../src/model/records.js';
import { DecideCell, gibi } from './decide-cell.js';
import type { Bench } from './measure.js';

const nodes = 5_000;

export const decideBench: Bench = {
  name: 'decide',
  title: `decisions only, ${nodes} nodes`,
  run(print) {
    const cell = new DecideCell();
    const accounts = Array.from({ length: nodes }, (_, at) =>
      cell.node(`node-${at}`, { cpuMilli: 64_000, memoryBytes: 256 * gibi }),
    );
    const changes = 200_000;
    const startedAt = performance.now();
    for (let change = 0; change < changes; change += 1) {
      const at = change % nodes;
      const replicas = Math.floor(change / nodes) + 1;
      cell.cell.apply(nodeAccountKey(`node-${at}`), {
        ...accounts[at],
        used: { cpuMilli: replicas * 100, memoryBytes: replicas * gibi, replicas },
        revisions: { 'a/work-1': replicas },
      });
    }
    print({
      name: 'changes of a node account taken in',
      value: changes / ((performance.now() - startedAt) / 1000),
      unit: '/s',
      target: { atLeast: 100_000 },
    });
    return Promise.resolve();
  },
};

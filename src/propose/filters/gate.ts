import { shownEpoch } from '../../model/records.js';
import type { NodeFilter } from './filter.js';

/** Takes nodes; passes those that are registered, under an epoch that nobody has closed. */
export const epoch: NodeFilter = {
  level: 'node',
  name: 'epoch',
  reason: 'NodeChanged',
  applies: () => true,
  rejects: ({ nodes }, row) => !nodes.isEpochOpen(row),
  says: ({ nodes }, row) => {
    const current = nodes.epochs[row];
    return current === undefined || nodes.accounts[row] === undefined
      ? 'has never registered'
      : `has to register again: its epoch ${shownEpoch(current)} was closed`;
  },
};

/** Takes nodes; passes those whose last durable verdict is Fresh. */
export const gate: NodeFilter = {
  level: 'node',
  name: 'gate',
  reason: 'GateClosed',
  applies: () => true,
  rejects: ({ nodes }, row) => nodes.accounts[row]?.gate.state === 'Closed',
  says: ({ nodes }, row) => `takes nothing new: ${nodes.accounts[row]?.gate.reason ?? 'its gate is closed'}`,
};

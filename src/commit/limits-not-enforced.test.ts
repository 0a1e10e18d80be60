import { expect, it } from 'vitest';
import type { Node } from '../model/kinds/node.js';
import { openTestCell } from './test-cell.fixture.js';

it('a machine that cannot hold jobs to their limits says so on its node, until it can', async () => {
  const cell = await openTestCell({ isAudited: false });
  const register = async (operation: string, unenforced: ('memory' | 'cpu' | 'pids')[]) => {
    const offer = { node: 'n9', capacity: {}, allocatable: {}, leaseSeconds: 40 };
    await cell.authority.register({ ...offer, agent: { unenforced }, operation });
    const { status } = await cell.record<{ status: Node['status'] }>('/s/Node/_/n9');
    return status?.conditions?.map(({ type, message }) => `${type}: ${message}`);
  };
  expect(await register('first', ['memory', 'pids'])).toEqual([
    'LimitsNotEnforced: processes here are not held to their memory, pids: the machine does not let its agent make control groups for that',
  ]);
  expect(await register('second', [])).toEqual([]);
});

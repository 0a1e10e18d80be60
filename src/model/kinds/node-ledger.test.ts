import { expect, it } from 'vitest';
import { example } from '../example.fixture.js';
import { Validator } from '../validate.js';
import { nodeLedger } from './node-ledger.js';

it('a NodeLedger shows what is committed on a node, and by whom; nobody writes it', () => {
  const charge = { tenant: 'default', node: 'node-a', rank: 'Guaranteed', amounts: { cpu: '2' } };
  const status = {
    revision: '42',
    epoch: { cell: 1, number: 3 },
    gate: { state: 'Open' },
    allocatable: { cpu: '16', memory: '64Gi' },
    used: { cpu: '2', devices: { gpu: 1 } },
    overcommitted: 'No',
    claims: { devices: { 'GPU-0a1b': 'uid-1' }, ports: { '8080': 'uid-1' } },
    antiAffinity: { 'default/api': 1 },
    charges: [{ kind: 'Replica', name: 'api-0-1', uid: 'uid-1', charge }],
  };
  expect(new Validator().validate(nodeLedger, example(nodeLedger, { status }, 'node-a'))).toEqual([]);
  expect(nodeLedger.writers).toEqual({ spec: 'nobody', status: 'nobody' });
});

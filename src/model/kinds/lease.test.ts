import { describe, expect, it } from 'vitest';
import { example } from '../example.fixture.js';
import { Validator } from '../validate.js';
import { lease } from './lease.js';

const validator = new Validator();
const spec = {
  holder: 'server-1',
  epoch: { cell: 1, number: 7 },
  durationSeconds: 40,
  address: '127.0.0.1:7443',
};

describe('a Lease', () => {
  it('[S8] says who may act under which epoch', () => {
    expect(validator.validate(lease, example(lease, { spec }))).toEqual([]);
    expect(
      validator.validate(lease, example(lease, { spec: { ...spec, epoch: { cell: 1 } } })),
    ).toMatchObject([{ path: 'spec.epoch.number', reason: 'Required' }]);
  });

  it('shows its epoch in one word', () => {
    const value = lease.columns.find((column) => column.name === 'Epoch')?.value;
    expect(typeof value === 'function' && value(example(lease, { spec }))).toBe('1.7');
  });
});

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

  const shown = (name: string, more: object): unknown => {
    const value = lease.columns.find((column) => column.name === name)?.value;
    return typeof value === 'function' && value(example(lease, { spec: { ...spec, ...more } }));
  };

  it('shows its epoch in one word', () => {
    expect(shown('Epoch', {})).toBe('1.7');
  });

  it('[S8] says who released it and why, and has no holder then', () => {
    const lastTerm = {
      ...{ holder: 'server-1', epoch: { cell: 1, number: 7 }, endedBy: 'server-1', reason: 'Stopped' },
      endedAt: '2026-01-01T00:00:00Z',
    };
    const released = { ...spec, holder: '', lastTerm };
    expect(validator.validate(lease, example(lease, { spec: released }))).toEqual([]);
    expect(shown('Last Term', { lastTerm })).toBe('1.7 ended by server-1: Stopped');
    expect(shown('Last Term', {})).toBeUndefined();
  });
});

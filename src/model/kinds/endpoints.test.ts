import { describe, expect, it } from 'vitest';
import { example } from '../example.fixture.js';
import { Validator } from '../validate.js';
import { endpoints } from './endpoints.js';

const validator = new Validator();
const address = (index: number): object => ({
  replica: `api-${index}-1`,
  node: 'node-a',
  address: '10.0.0.1',
  ports: { http: 20_000 + index },
});

describe('Endpoints', () => {
  it('say where each serving replica is, once', () => {
    const status = { addresses: [address(0), address(1)], source: 'Current' };
    expect(validator.validate(endpoints, example(endpoints, { status }))).toEqual([]);
    const twice = { addresses: [address(0), address(0)] };
    expect(validator.validate(endpoints, example(endpoints, { status: twice }))).toMatchObject([
      { path: 'status.addresses[1]', reason: 'Duplicate' },
    ]);
  });

  it('show the first few addresses', () => {
    const value = endpoints.columns.find((column) => column.name === 'Addresses')?.value;
    const show = (addresses: object[]): unknown =>
      typeof value === 'function' && value(example(endpoints, { status: { addresses } }));
    expect(show([])).toBe('');
    expect(show([0, 1, 2, 3, 4].map(address))).toBe('10.0.0.1:20000,10.0.0.1:20001,10.0.0.1:20002 + 2 more');
    expect(show([{ replica: 'a', node: 'b', address: 'c' }])).toBe('c');
  });
});

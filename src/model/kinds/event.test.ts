import { describe, expect, it } from 'vitest';
import { example } from '../example.fixture.js';
import { Validator } from '../validate.js';
import { event } from './event.js';

const validator = new Validator();
const fields = {
  involvedObject: {
    apiVersion: 'berth.dev/v1',
    kind: 'Workload',
    namespace: 'default',
    name: 'api',
    uid: 'uid-1',
  },
  reason: 'RolloutPaused',
  message: 'no progress for 600 s',
  type: 'Warning',
  source: { component: 'workload-controller' },
  firstTimestamp: '2026-01-31T13:05:00Z',
  lastTimestamp: '2026-01-31T13:06:00Z',
  count: 2,
};

describe('an Event', () => {
  it('has the flat fields that describe and get events read', () => {
    expect(validator.validate(event, example(event, fields))).toEqual([]);
    expect(event.group).toBe('');
    expect(event.selectableFields).toContain('involvedObject.uid');
  });

  it('is Normal and happened once where it does not say', () => {
    expect(event.withDefaults(example(event, {}))).toMatchObject({ type: 'Normal', count: 1 });
  });

  it('is in the namespace of what it is about', () => {
    const elsewhere = { ...fields, involvedObject: { ...fields.involvedObject, namespace: 'fraud' } };
    expect(validator.validate(event, example(event, elsewhere))).toMatchObject([
      { path: 'involvedObject.namespace', value: 'fraud', reason: 'Invalid' },
    ]);
  });

  it('shows what it is about as clients name it', () => {
    const value = event.columns.find((column) => column.name === 'Object')?.value;
    expect(typeof value === 'function' && value(example(event, fields))).toBe('workload/api');
  });
});

import { describe, expect, it } from 'vitest';
import { FieldSet } from './field-set.js';
import { actedNow, readManagers, withFields, writeManagers } from './managers.js';

const entry = (more: object = {}): object => ({
  manager: 'm',
  operation: 'Update',
  apiVersion: 'berth.dev/v1',
  time: '2026-01-01T00:00:00Z',
  fieldsType: 'FieldsV1',
  fieldsV1: { 'f:a': {} },
  ...more,
});

describe('managers', () => {
  it('come back as they were, elements unknown to us included, while nothing changes', () => {
    const entries = [entry({ fieldsV1: { 'f:a': {}, 'f:b': { 'i:0': {} } } })];
    expect(writeManagers(readManagers(entries) ?? [])).toEqual(entries);
  });

  it('are one where the same manager has two entries', () => {
    const managers = readManagers([
      entry(),
      entry({ fieldsV1: { 'f:b': {} } }),
      entry({ subresource: 'status' }),
    ]);
    expect(managers?.map(({ fields }) => fields.toFieldsV1())).toEqual([
      { 'f:a': {}, 'f:b': {} },
      { 'f:a': {} },
    ]);
  });

  it.each([
    'text',
    [null],
    [entry({ manager: 5 })],
    [entry({ manager: 'm'.repeat(129) })],
    [entry({ operation: 'Patch' })],
    [entry({ apiVersion: undefined })],
    [entry({ time: 'yesterday' })],
    [entry({ time: null })],
    [entry({ subresource: 1 })],
    [entry({ fieldsType: 'FieldsV2' })],
    [entry({ fieldsV1: [] })],
  ])('are not read from %j', (value) => {
    expect(readManagers(value)).toBeUndefined();
  });

  it('are written appliers first, then the oldest, without those who manage nothing', () => {
    const one = (
      manager: string,
      operation: 'Apply' | 'Update',
      time: string,
      fields = FieldSet.ofPaths(['f:a']),
    ) => actedNow({ manager, operation, apiVersion: 'v1', subresource: '' }, fields, time);
    const written = writeManagers([
      one('late', 'Update', '2026-01-02T00:00:00Z'),
      one('early', 'Update', '2026-01-01T00:00:00Z'),
      one('gone', 'Update', '2026-01-01T00:00:00Z', FieldSet.empty),
      one('b', 'Apply', '2026-01-03T00:00:00Z'),
      one('a', 'Apply', '2026-01-03T00:00:00Z'),
    ]);
    expect(written.map(({ manager }) => manager)).toEqual(['a', 'b', 'early', 'late']);
    expect(written[0]).not.toHaveProperty('subresource');
  });

  it('keep their time when others take from them', () => {
    const manager = actedNow(
      { manager: 'm', operation: 'Apply', apiVersion: 'v1' },
      FieldSet.ofPaths(['f:a']),
      't',
    );
    expect(withFields(manager, FieldSet.ofPaths(['f:b'])).entry).toEqual({
      ...manager.entry,
      fieldsV1: { 'f:b': {} },
    });
  });
});

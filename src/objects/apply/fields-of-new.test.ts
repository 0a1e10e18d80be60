import fc from 'fast-check';
import { expect, it } from 'vitest';
import { kinds } from '../../model/kinds.js';
import { FieldSet } from './field-set.js';
import { fieldsOfNew } from './fields-of-new.js';
import { withMetadataSchema } from './owned-part.js';
import { compareValues } from './typed.js';
import { schema } from './workload.fixture.js';

const name = fc.constantFrom('name', 'value', 'env', 'a', '10', '9', '__proto__');
const item = fc.dictionary(name, fc.oneof(name, fc.nat(12)), { maxKeys: 3 });
const anything = fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.array(item, { maxLength: 3 }), fc.array(name));
const spec = fc.record(
  {
    replicas: anything,
    zones: anything,
    nodeSelector: anything,
    near: anything,
    env: anything,
    ports: anything,
  },
  { requiredKeys: [] },
);
const part = fc.record(
  {
    spec: fc.oneof(spec, anything),
    status: anything,
    metadata: fc.record(
      { labels: anything, finalizers: anything, ownerReferences: anything },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: ['metadata'] },
);

it('the fields of a new object are those that comparing it with nothing gives, in the same order', () => {
  const whole = withMetadataSchema({ type: 'object', properties: schema.properties });
  fc.assert(
    fc.property(part, (value) => {
      const { added, modified } = compareValues({ metadata: {} }, value, whole);
      const compared = JSON.stringify(added.union(modified).toFieldsV1());
      expect(JSON.stringify(fieldsOfNew(value, whole))).toBe(compared);
    }),
    { numRuns: 2_000 },
  );
});

it('no two kinds share what is remembered of a schema', () => {
  const wholes = kinds.map((kind) => withMetadataSchema({ type: 'object', properties: kind.fields }));
  expect(new Set(wholes).size).toBe(kinds.length);
  const fields = kinds.map((_, index) => fieldsOfNew({ metadata: { labels: { a: 'b' } } }, wholes[index]));
  for (const found of fields) {
    expect(found).toEqual({ 'f:metadata': { 'f:labels': { '.': {}, 'f:a': {} } } });
    expect(FieldSet.fromFieldsV1(found).isEmpty()).toBe(false);
  }
});

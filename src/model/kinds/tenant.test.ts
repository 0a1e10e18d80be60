import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { example } from '../example.fixture.js';
import { Validator } from '../validate.js';
import { tenant } from './tenant.js';

const validator = new Validator();
const errorsOf = (spec: object, name = 'fraud'): string[] =>
  validator
    .validate(tenant, tenant.withDefaults(example(tenant, { spec }, name)))
    .map((error) => `${error.path}: ${error.message}`);

describe('a Tenant', () => {
  it('can say all that the design has it say', () => {
    const spec = parse(`
      guaranteed: { cpu: "32", devices: { gpu: 2 } }
      limit: { cpu: "64", memory: 256Gi, devices: { gpu: 4 }, replicas: 500 }
      weight: 2
      priorityClasses: [batch, critical]
      residency: [EU]
    `) as object;
    expect(errorsOf(spec)).toEqual([]);
  });

  it('that says nothing has no limits and may use every priority class', () => {
    expect(tenant.withDefaults(example(tenant, {})).spec).toEqual({
      weight: 1,
      priorityClasses: [],
      residency: [],
    });
    expect(errorsOf({})).toEqual([]);
  });

  it('[S3] is refused a limit below its guarantee, resource by resource', () => {
    expect(
      errorsOf({
        guaranteed: { cpu: 2, memory: '4Gi', devices: { gpu: 2, constructor: 3 } },
        limit: { cpu: '1500m', memory: '4096Mi', devices: { gpu: 1 } },
      }),
    ).toEqual([
      'spec.limit.cpu: must be at least what is guaranteed, which is 2',
      'spec.limit.devices[gpu]: must be at least what is guaranteed, which is 2',
    ]);
  });

  it('[S3] is refused a limit that cannot be counted exactly, as a text and as a number', () => {
    const tooMuch =
      'must be at most 9007199254740991 bytes, which is just below 8Pi: more cannot be counted exactly';
    expect(errorsOf({ limit: { memory: '1Ei' }, guaranteed: { memory: 2 ** 53 } })).toEqual([
      `spec.guaranteed.memory: ${tooMuch}`,
      `spec.limit.memory: ${tooMuch}`,
    ]);
    expect(errorsOf({ limit: { memory: '7Pi' } })).toEqual([]);
  });

  it('has a name that fits everywhere a tenant is named', () => {
    expect(errorsOf({}, 'a.b')).toHaveLength(1);
    expect(errorsOf({}, 'a'.repeat(64))).toEqual(['metadata.name: must have at most 63 characters']);
  });
});

import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { example } from '../example.fixture.js';
import { Validator } from '../validate.js';
import { node } from './node.js';

const validator = new Validator();
const errorsOf = (fields: object): string[] =>
  validator
    .validate(node, node.withDefaults(example(node, { ...fields }, 'node-gpu-7')))
    .map((error) => `${error.path} ${error.reason}`);

describe('a Node', () => {
  it('can say all that the design has it say', () => {
    const fields = parse(`
      spec: { region: eu-central, zone: a, taints: [], tenants: [], unschedulable: false }
      status: { allocatable: { cpu: "16", memory: 64Gi }, devices: { gpu: [GPU-0a1b, GPU-9c2d] }, reachability: Fresh }
    `) as object;
    expect(errorsOf(fields)).toEqual([]);
  });

  it('is local where it does not say where it is', () => {
    expect(node.withDefaults(example(node, {})).spec).toMatchObject({ region: 'local', zone: 'local' });
  });

  it('has taints that are told apart by key and effect, and devices only once', () => {
    const taint = { key: 'gpu', effect: 'NoSchedule' };
    expect(errorsOf({ spec: { taints: [taint, { ...taint, effect: 'NoExecute' }] } })).toEqual([]);
    expect(errorsOf({ spec: { taints: [taint, { ...taint, value: 'x' }] } })).toEqual([
      'spec.taints[1] Duplicate',
    ]);
    expect(errorsOf({ spec: { taints: [{ key: 'b ad', value: 'b ad', effect: 'NoSchedule' }] } })).toEqual([
      'spec.taints[0].key Invalid',
      'spec.taints[0].value Invalid',
    ]);
    expect(errorsOf({ status: { devices: { gpu: ['a', 'a'] } } })).toEqual([
      'status.devices.gpu[1] Duplicate',
    ]);
  });

  it.each([
    [{}, 'Yes'],
    [{ spec: { unschedulable: true } }, 'No'],
    [{ spec: { drain: {} } }, 'Draining'],
    [{ status: { gate: { state: 'Closed' } } }, 'GateClosed'],
  ])('shows in one word whether replicas may come: %j is %s', (fields, word) => {
    const value = node.columns.find((column) => column.name === 'Schedulable')?.value;
    expect(typeof value === 'function' && value(example(node, fields))).toBe(word);
  });
});

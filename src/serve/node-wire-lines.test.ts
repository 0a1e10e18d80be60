import { describe, expect, it } from 'vitest';
import { Validator } from '../model/validate.js';
import { checkUpLine } from './node-wire-lines.js';

const validator = new Validator();

const epoch = { cell: 1, number: 1 };
const report = {
  replica: { tenant: 't', name: 'r', uid: 'u' },
  fence: '1',
  stage: 'Ready',
  reason: 'R',
  operation: 'o',
};

const sample = {
  ...{ uid: 'u', restarts: 1, oomKills: 0 },
  running: { measuredMs: 5, cpuSeconds: 0.5, memoryBytes: 4096 },
};

describe('a line of a node stream', () => {
  it.each([
    { node: 'n', kind: 'open', id: 1, epoch },
    { node: 'n', kind: 'renew', id: 1 },
    { node: 'n', kind: 'renew', id: 1, usage: [] },
    { node: 'n', kind: 'renew', id: 1, usage: [{ uid: 'u', restarts: 0, oomKills: 0 }, sample] },
    { node: 'n', kind: 'report', id: 1, report },
    { node: 'n', kind: 'close' },
  ])('is taken: %j', (line) => {
    expect(checkUpLine(JSON.stringify(line), validator)).toEqual(line);
  });

  const register = { capacity: {}, allocatable: {}, agent: {}, leaseSeconds: 40, operation: 'o' };
  const registering = (node: string, more: object = {}): string =>
    JSON.stringify({ node, kind: 'register', id: 1, register: { ...register, ...more } });

  it('that registers makes only a node that an operator could have made', () => {
    expect(checkUpLine(registering('n1', { labels: { pool: 'gpu' } }), validator)).toMatchObject({
      node: 'n1',
    });
    for (const [text, message] of [
      [registering('n1/../n2'), 'register: metadata.name: "n1/../n2"'],
      [registering('n1', { labels: { pool: 7 } }), 'register: metadata.labels.pool: 7: must be a text'],
      [registering('n1', { capacity: { cpu: 'lots' } }), 'register: status.capacity.cpu: "lots"'],
      [registering('n1', { allocatable: { memory: '8Pi' } }), 'register: status.allocatable.memory: "8Pi"'],
      [registering('n1', { taints: [{ key: 'a' }] }), 'register: spec.taints[0].effect: is required'],
      [registering('n1', { journal: 7 }), 'register: journal: must be a text of at most 253 characters'],
      [registering('n1', { journal: 'x'.repeat(254) }), 'register: journal: must be a text of at most 253'],
    ] as const)
      expect(() => checkUpLine(text, validator)).toThrow(message);
  });

  it.each([
    ['{}', 'usage: must be a list of at most 100 samples'],
    [JSON.stringify(Array.from({ length: 101 }, () => sample)), 'usage: must be a list of at most 100'],
    ['[null]', 'usage[0]: must be an object'],
    ['[{"uid":7,"restarts":0,"oomKills":0}]', 'usage[0].uid: must be a string'],
    ['[{"uid":"u","restarts":0}]', 'usage[0].oomKills: required'],
    ['[{"uid":"u","restarts":-1,"oomKills":0}]', 'usage[0].restarts: must be a finite number, not below 0'],
    ['[{"uid":"u","restarts":0,"oomKills":0,"running":null}]', 'usage[0].running: must be an object'],
    [
      '[{"uid":"u","restarts":0,"oomKills":0,"running":{"measuredMs":1,"cpuSeconds":1e999,"memoryBytes":1}}]',
      'usage[0].running.cpuSeconds: must be a finite number',
    ],
  ])('that renews is refused with what is wrong with its usage: %s', (usage, message) => {
    const text = `{"kind":"renew","node":"n","id":1,"usage":${usage}}`;
    expect(() => checkUpLine(text, validator)).toThrow(`renew: ${message}`);
  });

  it.each([
    ['{', 'a line is not JSON'],
    ['null', 'kind: got undefined, allowed are register, open, renew, report, close'],
    ['{"kind":"shout"}', 'kind: got "shout", allowed are register'],
    ['{"kind":"renew","id":1}', 'renew: node: required'],
    ['{"kind":"renew","node":"n","id":"1"}', 'renew: id: must be a number'],
    ['{"kind":"open","node":"n","id":1,"epoch":{"cell":1}}', 'open: epoch.number: required'],
    ['{"kind":"report","node":"n","id":1,"report":{}}', 'report: replica: required'],
    ['{"kind":"register","node":"n","id":1,"register":{"agent":{}}}', 'register: capacity: required'],
  ])('is refused with what is wrong: %s', (text, message) => {
    expect(() => checkUpLine(text, validator)).toThrow(message);
  });
});

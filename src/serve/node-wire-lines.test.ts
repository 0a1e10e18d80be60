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

describe('a line of a node stream', () => {
  it.each([
    { node: 'n', kind: 'open', id: 1, epoch },
    { node: 'n', kind: 'renew', id: 1 },
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
      [registering('n1', { taints: [{ key: 'a' }] }), 'register: spec.taints[0].effect: is required'],
    ] as const)
      expect(() => checkUpLine(text, validator)).toThrow(message);
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

import { describe, expect, it } from 'vitest';
import { checkUpLine } from './node-wire-lines.js';

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
    expect(checkUpLine(JSON.stringify(line))).toEqual(line);
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
    expect(() => checkUpLine(text)).toThrow(message);
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matchesFields, parseFieldSelector } from './field-selector.js';

describe('a field selector', () => {
  const allowed = ['metadata.name', 'status.stage', 'spec.unschedulable', 'spec.count'];
  const object = {
    metadata: { name: 'a,b' },
    status: { stage: 'Ready' },
    spec: { unschedulable: false, count: 3 },
  };

  it.each([
    ['', true],
    ['status.stage=Ready', true],
    ['status.stage==Ready', true],
    ['status.stage!=Ready', false],
    ['status.stage=Ready,spec.count=3', true],
    ['status.stage=Ready, spec.count!=3', false],
    ['spec.unschedulable=false', true],
    ['metadata.name=a\\,b', true],
    ['status.stage=', false],
  ])('%j matches: %s', (text, expected) => {
    expect(matchesFields(parseFieldSelector(text, allowed), object)).toBe(expected);
  });

  it('takes a field that is not there for empty, whatever its prototype has', () => {
    const selector = parseFieldSelector('constructor.name=', ['constructor.name']);
    expect(matchesFields(selector, {})).toBe(true);
    expect(matchesFields(selector, undefined)).toBe(true);
  });

  it('says which fields there are when it does not know one', () => {
    expect(() => parseFieldSelector('spec.nodeName=x', allowed)).toThrow(
      'the field selector "spec.nodeName=x" cannot be used: "spec.nodeName" is not one of metadata.name, spec.count, spec.unschedulable, status.stage',
    );
  });

  it.each(['status.stage', '=x', 'status.stage=a=b', 'status.stage>3', 'metadata.name=a\\'])(
    'refuses %j',
    (text) => {
      expect(() => parseFieldSelector(text, allowed)).toThrow('is none of field=value');
    },
  );

  it('finds any value again that is escaped', () => {
    fc.assert(
      fc.property(fc.string(), (raw) => {
        const name = raw.trim();
        const escaped = name.replaceAll(/[\\,=]/g, '\\$&');
        const selector = parseFieldSelector(`metadata.name=${escaped}`, allowed);
        expect(matchesFields(selector, { metadata: { name } })).toBe(true);
      }),
    );
  });

  it('finds what one item of a list has', () => {
    const decision = { spec: { choices: [{ node: 'a' }, { node: 'b' }] } };
    const finds = (text: string): boolean =>
      matchesFields(parseFieldSelector(text, ['spec.choices.node']), decision);
    expect(['spec.choices.node=b', 'spec.choices.node=c', 'spec.choices.node!=b'].map(finds)).toEqual([
      true,
      false,
      false,
    ]);
  });
});

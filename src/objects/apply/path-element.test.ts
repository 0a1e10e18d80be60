import { describe, expect, it } from 'vitest';
import { compareElements, formatPath, itemElement, parseElement, valueElement } from './path-element.js';

describe('path elements', () => {
  it('are canonical: keys sorted, no spaces', () => {
    expect(parseElement('k:{ "protocol": "TCP", "containerPort": 80 }')).toBe(
      'k:{"containerPort":80,"protocol":"TCP"}',
    );
    expect(
      itemElement([
        ['b', 1],
        ['__proto__', true],
        ['10', 'x'],
      ]),
    ).toBe('k:{"10":"x","__proto__":true,"b":1}');
    expect(parseElement('v: "a"')).toBe('v:"a"');
  });

  it.each(['i:0', '.', '', 'x', 'k:', 'k:{', 'k:[]', 'k:{}', 'k:{"a":{}}', 'v:', 'v:{}', 'v:[1]', 'z:"a"'])(
    'do not understand %j',
    (text) => {
      expect(parseElement(text)).toBeUndefined();
    },
  );

  it('sort fields by name, numbers by value, and kinds by letter', () => {
    const sorted = [
      'f:B',
      'f:a',
      'k:{"n":2,"p":"TCP"}',
      'k:{"n":10,"p":"TCP"}',
      'k:{"n":10,"p":"UDP"}',
      'k:{"name":"a"}',
      'v:2',
      'v:10',
    ].map((text) => parseElement(text) ?? 'f:');
    expect(sorted.toReversed().toSorted(compareElements)).toEqual(sorted);
  });

  it('read as people write them', () => {
    const item = itemElement([
      ['number', 80],
      ['protocol', 'TCP'],
    ]);
    expect(formatPath(['f:spec', 'f:ports', item, 'f:name'])).toBe(
      '.spec.ports[number=80,protocol="TCP"].name',
    );
    expect(formatPath(['f:metadata', 'f:finalizers', valueElement('a/b')])).toBe(
      '.metadata.finalizers[="a/b"]',
    );
  });
});

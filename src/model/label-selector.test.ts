import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  checkLabelSelector,
  formatLabelSelector,
  labelSelectorOf,
  matchesLabels,
  parseLabelSelector,
  type LabelRequirement,
} from './label-selector.js';

describe('a label selector', () => {
  const labels = { app: 'api', tier: 'web', 'berth.dev/pool': 'gpu', empty: '' };

  it.each([
    ['', true],
    ['  ', true],
    ['app=api', true],
    ['app==api', true],
    ['app = api , tier=web', true],
    ['app=web', false],
    ['app!=web', true],
    ['other!=x', true],
    ['app', true],
    ['other', false],
    ['!other', true],
    ['! app', false],
    ['app in (web, api)', true],
    ['app in (web)', false],
    ['app notin (web,x),tier', true],
    ['other notin (web)', true],
    ['berth.dev/pool=gpu,app in (api),!x', true],
    ['empty=', true],
    ['empty in ()', true],
    ['in', false],
    ['notin in (x)', false],
    ['constructor', false],
    ['toString', false],
  ])('%j matches: %s', (text, expected) => {
    expect(matchesLabels(parseLabelSelector(text), labels)).toBe(expected);
  });

  it.each([
    ['app=api,', 'is none of key=value'],
    [',', 'is none of key=value'],
    ['=x', 'is none of key=value'],
    ['a=b=c', 'is none of key=value'],
    ['a in b', 'is none of key=value'],
    ['a in (b', 'is none of key=value'],
    ['a)b', 'is none of key=value'],
    ['a b', 'is none of key=value'],
    ['bad_/x=y', 'the part before "/"'],
    ['a=b@d', '"b@d": must be empty or letters'],
    ['__proto__=x', '"__proto__": the name of a key'],
    ['x'.repeat(10_001), 'more than 10000 characters'],
  ])('%j is refused with the reason', (text, message) => {
    expect(() => parseLabelSelector(text)).toThrow(message);
  });

  const key = fc.constantFrom('app', 'tier', 'in', 'notin', 'berth.dev/x', 'constructor');
  const values = fc
    .uniqueArray(fc.constantFrom('a', 'b', 'c.d', ''), { minLength: 1 })
    .map((all) => all.toSorted());
  const requirement: fc.Arbitrary<LabelRequirement> = fc.oneof(
    fc.record({ key, operator: fc.constantFrom('In', 'NotIn'), values }),
    fc.record({ key, operator: fc.constantFrom('Exists', 'DoesNotExist'), values: fc.constant([]) }),
  );

  it('survives writing and reading', () => {
    fc.assert(
      fc.property(fc.array(requirement), (selector) => {
        expect(parseLabelSelector(formatLabelSelector(selector))).toEqual(selector);
      }),
    );
  });

  it('and its opposite never agree', () => {
    const opposite = { In: 'NotIn', NotIn: 'In', Exists: 'DoesNotExist', DoesNotExist: 'Exists' } as const;
    fc.assert(
      fc.property(requirement, fc.dictionary(key, fc.constantFrom('a', 'b', '')), (one, some) => {
        const other = { ...one, operator: opposite[one.operator] };
        expect(matchesLabels([one], some)).toBe(!matchesLabels([other], some));
      }),
    );
  });

  it('means the same as an object', () => {
    const selector = labelSelectorOf({
      matchLabels: { app: 'api' },
      matchExpressions: [
        { key: 'tier', operator: 'In', values: ['web', 'x'] },
        { key: 'gone', operator: 'DoesNotExist' },
      ],
    });
    expect(formatLabelSelector(selector)).toBe('app=api,tier in (web,x),!gone');
    expect(matchesLabels(selector, labels)).toBe(true);
    expect(matchesLabels(labelSelectorOf({}))).toBe(true);
  });

  it('as an object is told all its errors at once', () => {
    const errors = checkLabelSelector('selector', {
      matchLabels: { 'b ad': 'x', app: 'b ad' },
      matchExpressions: [
        { key: 'tier', operator: 'In' },
        { key: '', operator: 'Exists', values: ['x'] },
      ],
    });
    expect(errors.map((error) => `${error.path} ${error.reason}`)).toEqual([
      'selector.matchLabels Invalid',
      'selector.matchLabels[app] Invalid',
      'selector.matchExpressions[0].values Required',
      'selector.matchExpressions[1].key Invalid',
      'selector.matchExpressions[1].values Forbidden',
    ]);
  });
});

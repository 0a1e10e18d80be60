import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonErrorOffset } from './json-position.js';

describe('the place where JSON is wrong', () => {
  it.each([
    ['', 0],
    ['{"a": \n  oops}', 9],
    ['{"a": 1,}', 8],
    ['{"a" 1}', 5],
    ['[1, 2', 5],
    ['[1 2]', 3],
    ['{"a": "\n"}', 6],
    ['nul', 0],
    ['1 2', 2],
    ['[}', 1],
    ['{"a": 01}', 7],
    ['['.repeat(200_000), 200_000],
  ])('%.20s: %i', (text, offset) => {
    expect(jsonErrorOffset(text)).toBe(offset);
  });

  it('is the end for whatever is JSON', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(jsonErrorOffset(text)).toBe(text.length);
      }),
    );
  });

  it('is before the end for whatever is not', () => {
    fc.assert(
      fc.property(
        fc.json(),
        fc.nat(),
        fc.constantFrom('}', ']', ',', ':', 'x', '"', '1'),
        (text, at, extra) => {
          const broken = text.slice(0, at % (text.length + 1)) + extra + text.slice(at % (text.length + 1));
          try {
            JSON.parse(broken);
          } catch {
            // Only an unfinished text is wrong at its very end.
            const offset = jsonErrorOffset(broken);
            if (offset === broken.length)
              expect(() => void JSON.parse(broken)).toThrow(/end of JSON|Unterminated|after|Expected/);
            return;
          }
          expect(jsonErrorOffset(broken)).toBe(broken.length);
        },
      ),
    );
  });
});

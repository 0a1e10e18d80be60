import { describe, expect, it } from 'vitest';
import { formats } from './formats.js';

describe('the forms of text', () => {
  it.each([
    ['name', ['a', 'a.b-c'], ['', 'A', 'a_b']],
    ['cron', ['0 2 * * *'], ['0 2 * *', 'x']],
    [
      'port',
      ['http', 'http:8080', 'a', 'a:65535'],
      ['', 'Http', 'http:', 'http:0', 'http:65536', 'a'.repeat(16)],
    ],
    ['env-name', ['MODEL', '_x', 'a1'], ['', '1a', 'a-b', 'BERTH_FENCE']],
    ['key', ['gpu', 'nvidia.com/gpu', 'constructor'], ['', '__proto__', 'a b', '-']],
    [
      'date-time',
      ['2026-01-31T13:05:00Z', '2026-01-31T13:05:00.123456+02:00'],
      ['', 'today', '2026-13-31T13:05:00Z'],
    ],
  ] as const)('%s takes what it says, and nothing else', (name, good, bad) => {
    for (const text of good) expect(formats[name].isValid(text), text).toBe(true);
    for (const text of bad) expect(formats[name].isValid(text), text).toBe(false);
  });
});

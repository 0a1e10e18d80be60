import { describe, expect, it } from 'vitest';
import { cronError } from './cron.js';

describe('a cron expression', () => {
  it.each([
    '0 2 * * *',
    '*/15 9-17 * * MON-FRI',
    '0,30 0 1 jan,jul *',
    '5/15 * * * 7',
    ' 0  0 29 2 * ',
    '0 0 31 2 1',
  ])('may be %j', (text) => {
    expect(cronError(text)).toBeUndefined();
  });

  it.each([
    ['', 'five fields'],
    ['0 2 * *', 'five fields'],
    ['0 2 * * * *', 'five fields'],
    ['@daily', 'five fields'],
    ['60 * * * *', 'minute "60" is not within 0 to 59'],
    ['* 24 * * *', 'hour "24" is not within 0 to 23'],
    ['* * 0 * *', 'day of month "0" is not within 1 to 31'],
    ['* * * 13 *', 'month "13" is not within 1 to 12'],
    ['* * * foo *', 'month "foo" is not within 1 to 12'],
    ['* * * * 8', 'day of week "8" is not within 0 to 7'],
    ['*/0 * * * *', 'minute "*/0" has a step of 0'],
    ['9-5 * * * *', 'minute "9-5" starts after its end'],
    ['1,,2 * * * *', 'minute "1,,2" cannot be read'],
    ['*-5 * * * *', 'minute "*-5" cannot be read'],
    ['0 0 30 2 *', 'it would never run'],
    ['0 0 31 4,jun *', 'it would never run'],
    ['*'.repeat(300), 'more than 256 characters'],
  ])('cannot be %j', (text, message) => {
    expect(cronError(text)).toContain(message);
  });
});

import { describe, expect, it } from 'vitest';
import { realEnv } from '../env/real.js';
import { BerthError } from '../model/errors.js';
import { errorEvent, type LogEvent, problemEvent } from './log.js';
import { openLog } from './open-log.js';

const event: LogEvent = {
  ...{ level: 'warn', component: 'detector', object: 'n3', message: 'Unknown:\n  no heartbeat for 41s' },
  fields: { epoch: '1.4', count: 3, note: 'two words', left: undefined },
};

async function written(format: 'plain' | 'json', level: LogEvent['level'], ...events: readonly LogEvent[]) {
  const lines: string[] = [];
  const log = await openLog({ format, level, env: realEnv(), write: (line) => lines.push(line) });
  for (const each of events) log(each);
  return lines;
}

describe('the log', () => {
  it('has one line for each event, with time, level, component, object and facts', async () => {
    const [line] = await written('plain', 'info', event);
    expect(line).toMatch(
      /^\d{4}-\d\d-\d\dT[\d:.]+Z WARN {2}detector n3: Unknown: no heartbeat for 41s epoch=1\.4 count=3 note="two words"\n$/,
    );
  });

  it('is JSON on request, with the same facts', async () => {
    const [line = ''] = await written('json', 'info', event);
    expect(line.endsWith('\n')).toBe(true);
    expect(JSON.parse(line)).toEqual({
      ...{ level: 'warn', time: expect.stringMatching(/^\d{4}-.*Z$/) as string, component: 'detector' },
      ...{ object: 'n3', msg: 'Unknown: no heartbeat for 41s', epoch: '1.4', count: 3, note: 'two words' },
    });
  });

  it.each([
    ['error', 1],
    ['warn', 2],
    ['info', 3],
    ['debug', 4],
  ] as const)('at level %s has %i of four events, one of each level', async (level, count) => {
    const each = (['error', 'warn', 'info', 'debug'] as const).map((one) => ({ ...event, level: one }));
    expect(await written('plain', level, ...each)).toHaveLength(count);
  });

  const token = `berth_0123456789abcdef_${'s'.repeat(43)}`;
  it.each([
    [`GET / with Authorization: Bearer ${token}`, token.slice(-43)],
    [`token ${token} was refused`, token.slice(-43)],
    ['authorization: Basic dXNlcjpwYXNz=', 'dXNlcjpwYXNz'],
    ['-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\n-----END EC PRIVATE KEY-----', 'MHcCAQEE'],
    ['cannot reach https://user:hunter2@h:1/x', 'hunter2'],
  ])('replaces the secret in %j', async (message, secret) => {
    for (const format of ['plain', 'json'] as const) {
      const said = { ...event, message, fields: { said: message }, error: new Error(message) };
      const lines = await written(format, 'debug', said);
      expect(lines.join('')).not.toContain(secret);
      expect(lines.join('')).toContain('REDACTED');
    }
  });
});

describe('a text without secrets', () => {
  it('is left as it is', async () => {
    const message =
      'the bearer token expired at 2026-01-01T00:00:00.000Z; token 0123456789abcdef of https://h:1';
    expect((await written('plain', 'info', { ...event, message })).join('')).toContain(message);
  });
});

describe('a problem of a controller', () => {
  it.each([
    [undefined, 'warn', 'no'],
    [new BerthError('StoreUnavailable', 'gone'), 'warn', 'no'],
    // A change by somebody else in between: the controller looks again, and nobody need know.
    [new BerthError('Conflict', 'old'), 'debug', 'no'],
    [new TypeError('x is undefined'), 'error', 'defect: x is undefined'],
  ])('with the cause %s is logged at level %s', (cause, level, message) => {
    const made = problemEvent({
      controller: 'workload',
      key: 'fraud/web',
      message: 'no',
      ...(cause && { cause }),
    });
    expect(made).toMatchObject({ level, component: 'workload', object: 'fraud/web' });
    expect(made.message.startsWith(message)).toBe(true);
  });

  it('names the place of a defect, and its stack trace is not part of the line', () => {
    const { message, error } = errorEvent('server', new TypeError('two\nlines'));
    expect(message).toMatch(/^defect: two lines \(at .*open-log\.test.*\)$/);
    expect(error).toBeInstanceOf(TypeError);
  });
});

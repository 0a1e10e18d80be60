import { describe, expect, it } from 'vitest';
import type { Env } from '../env/env.js';
import { SeededRandom } from '../env/random.js';
import { VirtualTime } from '../env/virtual.js';
import { BerthError, type ErrorCode } from '../model/errors.js';
import {
  backoffMs,
  type ReadBack,
  retry,
  RetryBudget,
  type RetryEnd,
  type RetryPolicy,
  valueOf,
} from './retry-policy.js';

const policy = (changes: Partial<RetryPolicy> = {}): RetryPolicy => ({
  attemptsMax: 5,
  deadlineMs: 60_000,
  backoffMsMin: 100,
  backoffMsMax: 1_000,
  budget: new RetryBudget(10),
  ...changes,
});

/** Runs an operation whose attempts end as the script says, in virtual time. */
async function scripted(
  script: readonly (ErrorCode | 'done' | BerthError)[],
  options: {
    policy?: RetryPolicy;
    readBack?: () => Promise<ReadBack<string>>;
    before?: (env: Env) => AbortSignal;
  } = {},
): Promise<{ end: RetryEnd<string>; log: string[]; tookMs: number }> {
  const world = new VirtualTime({ seed: 1 });
  const log: string[] = [];
  let end: RetryEnd<string> | undefined;
  let next = 0;
  world.spawn(world.machine('m'), 'retry', async (env) => {
    const operation = {
      id: 'operation-1',
      attempt: (id: string) => {
        log.push(`attempt ${id}`);
        const step = script[next++] ?? 'done';
        if (step === 'done') return Promise.resolve('value');
        return Promise.reject(typeof step === 'string' ? new BerthError(step, step) : step);
      },
      readBack: (id: string) => {
        log.push(`readBack ${id}`);
        return options.readBack?.() ?? Promise.resolve({ kind: 'notApplied' } as const);
      },
    };
    end = await retry(env, options.policy ?? policy(), operation, options.before?.(env));
  });
  await world.run();
  if (end === undefined) throw new Error('the operation has not ended');
  return { end, log, tookMs: world.nowMs };
}

describe('a retried operation', () => {
  it('is tried again under one id, after pauses that grow, until it is done; every attempt shows', async () => {
    const { end, log, tookMs } = await scripted(['ServerUnreachable', 'StoreUnavailable', 'done']);
    expect(end).toMatchObject({ kind: 'done', value: 'value' });
    expect(end.attempts.map(({ outcome }) => outcome)).toEqual([
      'ServerUnreachable',
      'StoreUnavailable',
      'done',
    ]);
    expect(log).toEqual(Array(3).fill('attempt operation-1'));
    expect(tookMs).toBeGreaterThanOrEqual(50 + 100);
    expect(tookMs).toBeLessThanOrEqual(100 + 200);
    expect(end.attempts.at(-1)?.startedAfterMs).toBeCloseTo(tookMs);
  });

  it('is read back before it is repeated when its outcome is unknown', async () => {
    const { end, log } = await scripted(['UnknownOutcome', 'done']);
    expect(end.kind).toBe('done');
    expect(log).toEqual(['attempt operation-1', 'readBack operation-1', 'attempt operation-1']);
  });

  it('is not repeated when reading back shows that it was applied', async () => {
    const { end, log } = await scripted(['UnknownOutcome'], {
      readBack: () => Promise.resolve({ kind: 'applied', value: 'found' }),
    });
    expect(end).toMatchObject({ kind: 'done', value: 'found' });
    expect(log).toEqual(['attempt operation-1', 'readBack operation-1']);
  });

  it('is not repeated when it cannot be read back', async () => {
    const { end, log } = await scripted(['UnknownOutcome'], {
      readBack: () => Promise.reject(new BerthError('ServerUnreachable', 'down')),
    });
    expect(end).toMatchObject({ kind: 'failed', because: 'final', error: { code: 'UnknownOutcome' } });
    expect(log).toHaveLength(2);
  });

  it.each(['Forbidden', 'Conflict', 'Expired'] as const)('is not repeated after %s', async (code) => {
    const { end, tookMs } = await scripted([code]);
    expect(end).toMatchObject({ kind: 'failed', because: 'final', attempts: [{ outcome: code }] });
    expect(tookMs).toBe(0);
  });

  it('ends at the bound on attempts, on time, and on the shared budget', async () => {
    const down = Array<ErrorCode>(100).fill('ServerUnreachable');
    const attempts = await scripted(down);
    expect(attempts.end).toMatchObject({ kind: 'failed', because: 'attempts' });
    expect(attempts.end.attempts).toHaveLength(5);
    const late = await scripted(down, { policy: policy({ attemptsMax: 100, deadlineMs: 2_000 }) });
    expect(late.end).toMatchObject({ kind: 'failed', because: 'deadline' });
    expect(late.tookMs).toBeLessThanOrEqual(2_000);

    const budget = new RetryBudget(6);
    await scripted(down, { policy: policy({ budget }) });
    const poor = await scripted(down, { policy: policy({ budget }) });
    expect(poor.end).toMatchObject({ kind: 'failed', because: 'budget' });
    expect(poor.end.attempts).toHaveLength(3);
    for (let success = 0; success < 11; success++) await scripted(['done'], { policy: policy({ budget }) });
    expect(budget.left).toBeGreaterThanOrEqual(1);
  });

  it('waits as long as the server asks, up to the longest pause', async () => {
    const busy = (retryAfterSeconds: number): BerthError =>
      new BerthError('TooManyRequests', 'busy', { details: { retryAfterSeconds } });
    const patient = policy({ backoffMsMax: 5_000 });
    expect((await scripted([busy(3)], { policy: patient })).tookMs).toBe(3_000);
    expect((await scripted([busy(3_600)], { policy: patient })).tookMs).toBe(5_000);
  });

  it('ends at once when its signal aborts during a pause', async () => {
    const { end, tookMs } = await scripted(['ServerUnreachable'], {
      before: (env) => {
        const gone = new AbortController();
        env.after(10, () => gone.abort());
        return gone.signal;
      },
    });
    expect(end).toMatchObject({ kind: 'failed', because: 'final', error: { code: 'ServerUnreachable' } });
    expect(tookMs).toBe(10);
  });

  it('shows its attempts in the error that a caller gets', async () => {
    const { end } = await scripted(Array<ErrorCode>(9).fill('StoreUnavailable'));
    expect(() => valueOf(end)).toThrow(/after 5 attempts/);
  });
});

it('a pause is at least half of what it doubles to, and never over the bound', () => {
  const random = new SeededRandom('backoff');
  for (let failures = 0; failures < 200; failures++) {
    const wholeMs = Math.min(1_000, 100 * 2 ** failures);
    const pauseMs = backoffMs(policy(), failures, random);
    expect(pauseMs).toBeGreaterThanOrEqual(wholeMs / 2);
    expect(pauseMs).toBeLessThanOrEqual(wholeMs);
  }
  expect(backoffMs(policy(), Number.POSITIVE_INFINITY, random)).toBeLessThanOrEqual(1_000);
});

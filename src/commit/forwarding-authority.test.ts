import { describe, expect, it } from 'vitest';
import type { Env } from '../env/env.js';
import { msBetween } from '../env/instant.js';
import { VirtualTime } from '../env/virtual.js';
import { BerthError } from '../model/errors.js';
import type { Forget, Proposal, Report } from '../model/ports.js';
import { MemoryStore } from '../store/memory.js';
import { ForwardingAuthority, type ForwardingParts } from './forwarding-authority.js';
import { openAuthority } from './open-authority.fixture.js';

const forget = { replica: { tenant: 't', name: 'r', uid: 'u' }, operation: 'o' } as Forget;
const report = (stage: Report['stage']): Report =>
  ({ node: 'n', nodeEpoch: { cell: 1, number: 1 }, replica: forget.replica, stage }) as Report;
const committed = { kind: 'Committed', revision: '7' };

/** A forwarding authority over a real one, with the answers of another server given. */
async function inWorld(
  options: {
    leader?: ReturnType<ForwardingParts['leader']>;
    answer?: (env: Env, signal: AbortSignal) => unknown;
  },
  act: (authority: ForwardingAuthority, sleep: (ms: number) => Promise<void>, env: Env) => Promise<unknown>,
) {
  const world = new VirtualTime({ seed: 1 });
  const sent: string[] = [];
  const counted: string[] = [];
  const results: unknown[] = [];
  world.spawn(world.machine('server'), 'server', async (env) => {
    const opened = await openAuthority(new MemoryStore(env), env);
    const authority = new ForwardingAuthority({
      ...{ local: opened.authority, holder: 'me', env },
      leader: () => ('leader' in options ? options.leader : { holder: 'other', address: 'https://other' }),
      send: async (address, operation, _, signal) => {
        sent.push(`${operation} ${address}`);
        return options.answer === undefined ? committed : options.answer(env, signal);
      },
      onOperation: (route, outcome) => counted.push(`${route} ${outcome}`),
    });
    results.push(await act(authority, (ms) => env.sleep(ms), env));
    await opened.cache.close();
  });
  await world.run(60_000);
  return { sent, counted, result: results[0] };
}

const failing = (code: ConstructorParameters<typeof BerthError>[0]) => () => {
  throw new BerthError(code, 'no');
};

describe('an account operation', () => {
  it('is done by the holder of the lease authority', async () => {
    const done = await inWorld({}, (authority) => authority.forget(forget));
    expect(done).toEqual({
      sent: ['forget https://other'],
      counted: ['forwarded Committed'],
      result: committed,
    });
  });

  it.each([
    ['holds the lease itself', { holder: 'me', address: 'https://me' }],
    ['knows of no holder', undefined],
    ['sees that it was given up', { holder: '', address: 'https://other' }],
    ['does not know where the holder is', { holder: 'other', address: undefined }],
  ])('is done here by a server that %s', async (_, leader) => {
    const done = await inWorld({ leader }, (authority) => authority.forget(forget));
    expect(done).toMatchObject({ sent: [], counted: ['local AlreadyCommitted'] });
  });

  it.each([
    'ServerUnreachable',
    'TooManyRequests',
    'Forbidden',
    'StoreUnavailable',
    'RequestTooLarge',
  ] as const)('is done here when the holder for certain did nothing: %s', async (code) => {
    const done = await inWorld({ answer: failing(code) }, (authority) => authority.forget(forget));
    expect(done).toMatchObject({ sent: ['forget https://other'], counted: ['local AlreadyCommitted'] });
  });

  it.each([
    ['an answer that was lost', failing('UnknownOutcome')],
    ['a defect of the holder', failing('InternalError')],
    ['an answer that is no outcome', () => ({ kind: 'Maybe' })],
    ['no answer at all', () => null],
    [
      'an error of another kind',
      () => {
        throw new TypeError('x');
      },
    ],
  ])('is UnknownOutcome after %s, and is not done twice', async (_, answer) => {
    const done = await inWorld({ answer }, (authority) => authority.forget(forget));
    expect(done).toMatchObject({ counted: ['forwarded UnknownOutcome'], result: { kind: 'UnknownOutcome' } });
  });

  it('does not wait for an unreachable holder every time, and asks again after a while', async () => {
    const { sent, counted } = await inWorld(
      { answer: failing('ServerUnreachable') },
      async (authority, sleep) => {
        for (let n = 0; n < 5; n++) await authority.forget(forget);
        await sleep(5_000);
        await authority.forget(forget);
      },
    );
    expect(sent).toHaveLength(2);
    expect(counted).toEqual(Array.from({ length: 6 }, () => 'local AlreadyCommitted'));
  });

  it.each<[string, NonNullable<Parameters<typeof inWorld>[0]['answer']>, object]>([
    [
      'the holder refuses late',
      async (env) => {
        await env.sleep(2_500);
        throw new BerthError('StoreUnavailable', 'no leader');
      },
      { code: 'StoreUnavailable', message: 'no leader' },
    ],
    [
      'the holder does not answer what it was sent',
      async (env, signal) => {
        await env.sleep(60_000, signal).catch(() => undefined);
        throw new BerthError('UnknownOutcome', 'sent');
      },
      { kind: 'UnknownOutcome' },
    ],
    [
      'no connection to the holder opens',
      (env, signal) => env.sleep(60_000, signal),
      { code: 'ServerUnreachable', message: 'no connection to the authority within 3000 ms' },
    ],
  ])('is answered within 3 s when %s, and the next is done here', async (_, answer, expected) => {
    const done = await inWorld({ answer }, async (authority, _sleep, env) => {
      const startedAt = env.clock.monotonic();
      const first = await authority.forget(forget).catch((error: unknown) => error);
      const tookMs = msBetween(startedAt, env.clock.monotonic());
      return { first, tookMs, next: await authority.forget(forget) };
    });
    expect(done.result).toMatchObject({ first: expected, next: { kind: 'AlreadyCommitted' } });
    expect((done.result as { tookMs: number }).tookMs).toBeLessThanOrEqual(3_000);
    expect(done.sent).toHaveLength(1);
  });

  it('of many proposals has an outcome for each, also when none came back', async () => {
    const proposals = [{}, {}, {}] as Proposal[];
    const lost = await inWorld({ answer: () => [committed] }, (authority) => authority.bind(proposals));
    expect(lost.result).toMatchObject(proposals.map(() => ({ kind: 'UnknownOutcome' })));
    const all = await inWorld({ answer: () => proposals.map(() => committed) }, (authority) =>
      authority.bind(proposals),
    );
    expect(all.result).toEqual([committed, committed, committed]);
  });

  it('is a report only if it ends its replica', async () => {
    const going = await inWorld({}, (authority) => authority.report(report('Starting')));
    expect(going).toMatchObject({ sent: [], result: { kind: 'Rejected' } });
    const ended = await inWorld({}, (authority) => authority.report(report('Failed')));
    expect(ended.sent).toEqual(['report https://other']);
  });
});

import { describe, expect, it } from 'vitest';
import { bootMs, msBetween } from './instant.js';
import { realEnv } from './real.js';

describe('the real env', () => {
  it('has clocks that move forward together', async () => {
    const env = realEnv();
    const { clock } = env;
    const [monotonic, boot, wall] = [clock.monotonic(), clock.boot(), clock.wall()];
    await env.sleep(60);
    expect(msBetween(monotonic, clock.monotonic())).toBeGreaterThanOrEqual(59);
    // The boot clock has steps of 10 ms.
    expect(msBetween(boot, clock.boot())).toBeGreaterThanOrEqual(40);
    expect(msBetween(wall, clock.wall())).toBeGreaterThanOrEqual(50);
    expect(bootMs(boot)).toBeGreaterThan(0);
  });

  it('calls a timer once, never synchronously, and not at all once it is cancelled', async () => {
    const env = realEnv();
    const called: string[] = [];
    env.after(0, () => called.push('kept'));
    env.after(0, () => called.push('cancelled')).cancel();
    expect(called).toEqual([]);
    await env.sleep(20);
    expect(called).toEqual(['kept']);
    expect(() => env.after(2 ** 31, () => undefined)).toThrow('allowed is 0 to');
    expect(() => env.after(-1, () => undefined)).toThrow('allowed is 0 to');
  });

  it('sleeps until its signal aborts, and rejects with the reason', async () => {
    const env = realEnv();
    const stop = new AbortController();
    const asleep = env.sleep(60_000, stop.signal);
    stop.abort(new Error('enough'));
    await expect(asleep).rejects.toThrow('enough');
    await expect(env.sleep(1, stop.signal)).rejects.toThrow('enough');
  });

  it('draws other numbers and ids each time', () => {
    expect(realEnv().random.uint32()).not.toBe(realEnv().random.uint32());
    expect(realEnv().uuid()).not.toBe(realEnv().uuid());
    const env = realEnv();
    expect(env.secret(32)).toHaveLength(32);
    expect(env.secret(32)).not.toEqual(env.secret(32));
  });
});

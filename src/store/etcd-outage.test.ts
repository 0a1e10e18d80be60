import { describe, expect, it } from 'vitest';
import type { Env } from '../env/env.js';
import { VirtualTime } from '../env/virtual.js';
import { EtcdOutage } from './etcd-outage.js';

async function inWorld(act: (env: Env) => Promise<void>): Promise<void> {
  const world = new VirtualTime({ seed: 1 });
  let failure: unknown = new Error('the story did not end');
  world.spawn(world.machine('server'), 'server', async (env) => {
    failure = await act(env).catch((error: unknown) => error);
  });
  await world.run(60_000);
  if (failure !== undefined) throw failure as Error;
}

const noAnswer = new Error('no leader');

describe('an outage of etcd', () => {
  it('begins when a request has waited in vain and no other was answered meanwhile, and ends with a probe', () =>
    inWorld(async (env) => {
      let isBack = false;
      let probes = 0;
      const outage: EtcdOutage = new EtcdOutage({
        env,
        probe: async () => {
          probes += 1;
          await env.sleep(100);
          if (!isBack) throw noAnswer;
          outage.answered();
        },
      });
      await env.sleep(1_000);
      const madeAt = env.clock.monotonic();
      await env.sleep(1_000);
      outage.answered();
      await env.sleep(1_500);
      outage.unanswered(madeAt, noAnswer);
      expect(outage.isOn, 'another request was answered').toBe(false);

      const madeLater = env.clock.monotonic();
      await env.sleep(2_500);
      outage.unanswered(madeLater, noAnswer);
      expect(outage.isOn).toBe(true);
      await env.sleep(7_000);
      await expect(outage.refuse()).rejects.toMatchObject({
        code: 'StoreUnavailable',
        message: 'etcd has not answered for 9.5s: no leader',
      });
      expect(probes).toBeGreaterThan(10);
      isBack = true;
      await env.sleep(700);
      expect(outage.isOn).toBe(false);
      await outage.refuse();
      const after = probes;
      await env.sleep(10_000);
      expect(probes, 'nobody asks while there is no outage').toBe(after);
      outage.close();
    }));

  it('is over for good when the store is closed', () =>
    inWorld(async (env) => {
      let probes = 0;
      const probe = (): Promise<never> => {
        probes += 1;
        return Promise.reject(noAnswer);
      };
      const outage = new EtcdOutage({ env, probe });
      await env.sleep(1_000);
      outage.unanswered(env.clock.monotonic(), noAnswer);
      await env.sleep(2_000);
      outage.close();
      const before = probes;
      await env.sleep(10_000);
      expect(probes).toBe(before);
    }));
});

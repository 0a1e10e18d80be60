import { describe, expect, it } from 'vitest';
import { VirtualTime } from '../../env/virtual.js';
import { SupervisorPulse } from './supervisor-pulse.js';

describe('the pulse of a supervisor', () => {
  it('is asked for, and its absence is said after a while, again while it goes on, and when it is over', async () => {
    const time = new VirtualTime({ seed: 1 });
    const here = time.machine('here');
    const { env } = here;
    const said: string[] = [];
    let isStopped = false;
    const pulse = new SupervisorPulse({
      env,
      ask: () => {
        if (!isStopped) env.after(1, () => pulse.heard());
      },
      onSilent: () => said.push(`silent at ${Math.round(time.nowMs / 1_000)}`),
      onHeardAgain: () => said.push(`heard at ${Math.round(time.nowMs / 1_000)}`),
    });
    env.after(31_000, () => (isStopped = true));
    env.after(132_000, () => (isStopped = false));
    // Who asks stands still itself: nobody was silent.
    env.after(150_500, () => here.suspend(100_000));
    await time.run(400_000);
    pulse.close();
    expect(said).toEqual(['silent at 50', 'silent at 110', 'heard at 135']);
  });
});

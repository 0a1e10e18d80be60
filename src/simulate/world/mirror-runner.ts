import type { Runner } from '../../agent/runner.js';
import type { RunMirror } from '../../agent/supervisor/run-mirror.js';
import { runSpecOf } from '../../agent/supervisor/run-spec.js';
import type { Env } from '../../env/env.js';

/** The processes of a simulated machine, as its agent sees and starts them through the supervisor. */
export const mirrorRunner = (mirror: RunMirror, env: Env, node: string): Runner => ({
  ...{ name: 'process', canFence: true },
  attach: (onEvent) => mirror.attach((event) => void env.after(0, () => onEvent(event))),
  list: () => mirror.list(),
  start: (launch) => mirror.start(runSpecOf(launch, { node })),
  stop: (uid, graceSeconds) => mirror.stop(uid, graceSeconds),
  forget: (uid) => mirror.forget(uid),
  permit: (permit) => mirror.permit(permit),
  exec: () => {
    throw new Error('nobody runs anything beside a simulated process');
  },
  usage: () => undefined,
});

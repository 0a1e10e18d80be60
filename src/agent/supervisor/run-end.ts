import type { RunEnd } from '../runner.js';
import type { RunExit } from './machine.js';

/** What a supervisor did to end a run, if it did anything. */
export type EndedBy = 'Stopped' | 'Fenced' | 'DiskQuotaExceeded' | undefined;

/** Why an execution is over, from how its last process ended and what was done to it. */
export function runEndOf(exit: RunExit | undefined, endedBy: EndedBy, overrunMs = 0): RunEnd {
  if (endedBy === 'Fenced')
    return {
      reason: 'Fenced',
      ...codeOf(exit),
      message:
        overrunMs > 0
          ? `FenceOverrun: it was ended ${(overrunMs / 1_000).toFixed(1)} s after its permit was over`
          : 'no renewal permitted it any more',
      ...(overrunMs > 0 && { overrunMs }),
    };
  if (endedBy === 'DiskQuotaExceeded')
    return {
      reason: 'DiskQuotaExceeded',
      ...codeOf(exit),
      message: 'its scratch directory held more than its limit',
    };
  if (exit === undefined)
    return endedBy === 'Stopped'
      ? { reason: 'Stopped' }
      : { reason: 'ExitUnknown', message: 'it ended while nobody was there to see how' };
  const code = codeOf(exit);
  const isKilled = exit.signal === 'SIGKILL' || exit.exitCode === 137;
  if ((exit.oomKills ?? 0) > 0 && isKilled)
    return { reason: 'OutOfMemory', ...code, message: 'it used more memory than its limit' };
  if (endedBy === 'Stopped') return { reason: 'Stopped', ...code };
  if (exit.startProblem !== undefined) return { reason: 'StartFailed', message: exit.startProblem };
  const message =
    (exit.oomKills ?? 0) > 0
      ? `${exit.oomKills} of its processes were ended: more memory than its limit`
      : undefined;
  if (exit.signal !== undefined)
    return { reason: 'Killed', ...code, message: message ?? `by ${exit.signal}` };
  return { reason: 'Exited', ...code, ...(message !== undefined && { message }) };
}

const codeOf = (exit: RunExit | undefined): { readonly exitCode?: number } =>
  exit?.exitCode === undefined ? {} : { exitCode: exit.exitCode };

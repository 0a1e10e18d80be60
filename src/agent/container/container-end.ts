import type { RunEnd, RunEndReason } from '../runner.js';
import type { ContainerState } from './container-engine.js';

// 128 and the number of SIGKILL, as engines and shells say it.
export const killedCode = 137;

/** How a container that does not run any more has ended. Undefined: the engine does not know it. */
export function containerEnd(state: ContainerState | undefined, wasAskedToStop: boolean): RunEnd {
  if (state === undefined)
    return {
      reason: 'ExitUnknown',
      message: 'somebody has removed the container, and what became of it with it',
    };
  const { exitCode, isOutOfMemory, error } = state;
  const message = error === '' ? {} : { message: error };
  if (isOutOfMemory)
    return { reason: 'OutOfMemory', exitCode, message: 'it needed more memory than its resources allow' };
  if (wasAskedToStop) return { reason: 'Stopped', exitCode, ...message };
  return { reason: exitCode === killedCode ? 'Killed' : 'Exited', exitCode, ...message };
}

/** Why a container could not be started, from the words of the engine. */
export function startFailure(message: string): RunEnd {
  const isMissing = /executable file .*not found|no such file or directory|stat .*: no such file/i.test(
    message,
  );
  return { reason: isMissing ? 'CommandNotFound' : 'StartFailed', message: message.slice(0, 1_000) };
}

/** Why an image could not be had, from the words of the engine and the registry. */
export function pullFailure(image: string, message: string): RunEnd {
  const isMissing = /manifest unknown|name unknown|not found|no such image|repository does not exist|denied/i;
  const reason: RunEndReason =
    isMissing.test(message) && !/no such host/i.test(message) ? 'ImageNotFound' : 'ImagePullFailed';
  return { reason, message: `${image}: ${message}`.slice(0, 1_000) };
}

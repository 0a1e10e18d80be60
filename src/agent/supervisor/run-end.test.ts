import { describe, expect, it } from 'vitest';
import { runEndOf } from './run-end.js';

describe('why an execution is over', () => {
  it.each([
    [{ exitCode: 0 }, undefined, { reason: 'Exited', exitCode: 0 }],
    [
      { exitCode: 139, signal: 'SIGSEGV' },
      undefined,
      { reason: 'Killed', exitCode: 139, message: 'by SIGSEGV' },
    ],
    [{ exitCode: 143, signal: 'SIGTERM' }, 'Stopped', { reason: 'Stopped', exitCode: 143 }],
    [undefined, 'Stopped', { reason: 'Stopped' }],
    [
      { exitCode: 137, signal: 'SIGKILL' },
      'DiskQuotaExceeded',
      {
        reason: 'DiskQuotaExceeded',
        exitCode: 137,
        message: 'its scratch directory held more than its limit',
      },
    ],
    [
      { exitCode: 137, signal: 'SIGKILL', oomKills: 1 },
      undefined,
      { reason: 'OutOfMemory', exitCode: 137, message: 'it used more memory than its limit' },
    ],
    [
      { exitCode: 1, oomKills: 2 },
      undefined,
      { reason: 'Exited', exitCode: 1, message: '2 of its processes were ended: more memory than its limit' },
    ],
    [{ startProblem: 'unshare: no' }, undefined, { reason: 'StartFailed', message: 'unshare: no' }],
    [undefined, undefined, { reason: 'ExitUnknown', message: 'it ended while nobody was there to see how' }],
  ] as const)('%o, ended by %s: %o', (exit, endedBy, end) => {
    expect(runEndOf(exit, endedBy)).toEqual(end);
  });

  it('a fence that ended it late is an overrun, and says by how much', () => {
    expect(runEndOf({ exitCode: 137 }, 'Fenced')).toEqual({
      ...{ reason: 'Fenced', exitCode: 137, message: 'no renewal permitted it any more' },
    });
    expect(runEndOf({ exitCode: 137 }, 'Fenced', 3_210)).toEqual({
      ...{ reason: 'Fenced', exitCode: 137, overrunMs: 3_210 },
      message: 'FenceOverrun: it was ended 3.2 s after its permit was over',
    });
  });
});

import { describe, expect, it } from 'vitest';
import { BerthError } from '../model/errors.js';
import { CommandFailure, usageFailure } from './command-failure.js';
import { describeError, exitCodeOf } from './report-failure.js';

describe('what the shell is told of an error', () => {
  it.each([
    { error: new BerthError('ServerUnreachable', ''), code: 69 },
    { error: new BerthError('Forbidden', ''), code: 77 },
    { error: new BerthError('Unauthorized', ''), code: 77 },
    { error: new BerthError('UnknownOutcome', ''), code: 3 },
    { error: new BerthError('InvalidKubeconfig', ''), code: 64 },
    { error: new BerthError('Invalid', ''), code: 1 },
    { error: usageFailure(''), code: 64 },
    { error: new CommandFailure(4, ''), code: 4 },
    { error: new Error('x'), code: 1 },
  ])('$code for $error.code$error.name', ({ error, code }) => {
    expect(exitCodeOf(error)).toBe(code);
  });

  it('names the address, its source and the first cause of a server that does not answer', () => {
    const first = new BerthError('ServerUnreachable', 'GET x', { cause: new Error('connect ECONNREFUSED') });
    const error = new BerthError('ServerUnreachable', 'GET x (after 3 attempts)', { cause: first });
    expect(describeError(error, { url: 'https://h:1', configPath: 'k' })).toBe(
      'no server answers at https://h:1 (from k): connect ECONNREFUSED; start one with: berth up',
    );
  });
});

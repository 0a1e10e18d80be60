import { describe, expect, it } from 'vitest';
import { errorTable } from '../model/errors.js';
import { errorCodeOf, errorOfAnswer } from './status-error.js';

describe('an answer that tells of an error', () => {
  it.each([
    [404, 'NotFound', 'NotFound'],
    [409, 'AlreadyExists', 'AlreadyExists'],
    [409, 'Conflict', 'Conflict'],
    [410, 'Expired', 'Expired'],
    [413, 'RequestEntityTooLarge', 'RequestTooLarge'],
    [503, 'ServiceUnavailable', 'StoreUnavailable'],
    [504, 'Timeout', 'UnknownOutcome'],
    [507, 'ServiceUnavailable', 'StoreFull'],
    [418, 'toString', 'BadRequest'],
    [502, undefined, 'InternalError'],
  ] as const)('%i %s is %s', (status, reason, code) => {
    expect(errorCodeOf(status, reason)).toBe(code);
  });

  it('that names no reason gets a code of its HTTP status', () => {
    for (const { httpStatus } of Object.values(errorTable)) {
      expect(errorTable[errorCodeOf(httpStatus, undefined)].httpStatus).toBe(httpStatus);
    }
  });

  it('keeps the message and the details', () => {
    const status = { kind: 'Status', code: 422, reason: 'Invalid', message: 'm', details: { causes: [] } };
    expect(errorOfAnswer(422, status)).toMatchObject({
      code: 'Invalid',
      message: 'm',
      details: { causes: [] },
    });
    expect(errorOfAnswer(502, '<html>')).toMatchObject({
      code: 'InternalError',
      message: 'the server answered 502 <html>',
    });
  });
});

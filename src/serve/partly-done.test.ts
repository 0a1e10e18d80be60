import { describe, expect, it } from 'vitest';
import { BerthError } from '../model/errors.js';
import { partlyDone } from './partly-done.js';

const unavailable = new BerthError('StoreUnavailable', 'no leader');
const conflict = new BerthError('Conflict', 'it has changed');

describe('a collection of which some objects are deleted', () => {
  it('is refused as one that wrote nothing only if it wrote nothing', () => {
    expect(partlyDone(unavailable, 0, 5)).toBe(unavailable);
    expect(partlyDone(unavailable, 2, 5)).toMatchObject({
      code: 'UnknownOutcome',
      message: '2 of 5 objects were deleted before this: no leader',
    });
  });

  it('is told the error of the object that could not be deleted where that says nothing of the others', () => {
    expect(partlyDone(conflict, 2, 5)).toBe(conflict);
    const defect = new TypeError('x');
    expect(partlyDone(defect, 2, 5)).toBe(defect);
  });
});

import { depthMax } from '../model/check-shape.js';
import { BerthError } from '../model/errors.js';

export const nestedTooDeep = (): BerthError =>
  new BerthError('BadRequest', `the body is nested deeper than ${depthMax} levels`);

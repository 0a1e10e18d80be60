import { BerthError, errorTable } from '../model/errors.js';
import { fieldErrorText } from '../model/field-error-text.js';
import type { FieldError } from '../model/object.js';

/** A `Status` object, in which clients expect every error and the success of a deletion. */
export interface Status {
  readonly kind: 'Status';
  readonly apiVersion: 'v1';
  readonly metadata: Record<string, never>;
  readonly status: 'Success' | 'Failure';
  readonly message?: string;
  readonly reason?: string;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly code: number;
}

// Kubernetes clients act on these words; where ours differ, this says which of theirs is meant.
const reasonsElsewhere: Partial<Record<BerthError['code'], string>> = {
  InvalidKey: 'BadRequest',
  InvalidTransaction: 'RequestEntityTooLarge',
  FutureRevision: 'BadRequest',
  SlowWatcher: 'Expired',
  StoreLocked: 'ServiceUnavailable',
  StoreFormat: 'InternalError',
  StoreFull: 'ServiceUnavailable',
  StoreOverloaded: 'TooManyRequests',
  StoreUnavailable: 'ServiceUnavailable',
  StoreClosed: 'ServiceUnavailable',
  RequestTooLarge: 'RequestEntityTooLarge',
  UnknownOutcome: 'Timeout',
  InvalidQuantity: 'BadRequest',
  InvalidDuration: 'BadRequest',
  InvalidSelector: 'BadRequest',
  TooDeep: 'BadRequest',
  InvalidIdentity: 'BadRequest',
  InvalidToken: 'BadRequest',
  TooManyTokens: 'Forbidden',
};

const causeReasons: Record<FieldError['reason'], string> = {
  Required: 'FieldValueRequired',
  Invalid: 'FieldValueInvalid',
  NotSupported: 'FieldValueNotSupported',
  Unknown: 'FieldValueInvalid',
  Forbidden: 'FieldValueForbidden',
  Duplicate: 'FieldValueDuplicate',
  TooLong: 'FieldValueTooLong',
};

interface Cause {
  readonly reason: string;
  readonly message: string;
  readonly field: string;
}

/** The Status that tells a client of an error. What is not a BerthError is a defect, and says no more than that. */
export function statusOf(error: unknown): Status {
  if (!(error instanceof BerthError)) {
    return failure(500, 'InternalError', 'the server failed to answer; its log says why', {});
  }
  const { causes, retryAfterSeconds, ...details } = error.details as {
    causes?: readonly (FieldError | Cause)[];
    retryAfterSeconds?: number;
  };
  return failure(
    errorTable[error.code].httpStatus,
    reasonsElsewhere[error.code] ?? error.code,
    error.advice === undefined ? error.message : `${error.message}; ${error.advice}`,
    {
      ...details,
      ...(causes === undefined ? {} : { causes: causes.map(shownCause) }),
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    },
  );
}

function shownCause(cause: FieldError | Cause): Cause {
  return 'path' in cause
    ? { reason: causeReasons[cause.reason], message: fieldErrorText(cause), field: cause.path }
    : cause;
}

function failure(
  code: number,
  reason: string,
  message: string,
  details: Readonly<Record<string, unknown>>,
): Status {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason,
    ...(Object.keys(details).length === 0 ? {} : { details }),
    code,
  };
}

export function successStatus(details: Readonly<Record<string, unknown>>): Status {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details, code: 200 };
}

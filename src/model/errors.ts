/** What a caller may do about an error: nothing, try again later, look again first, or find out what happened. */
export type CallerMay = 'never' | 'backoff' | 'refresh' | 'readBack';

interface ErrorFacts {
  readonly httpStatus: number;
  readonly callerMay: CallerMay;
  readonly meaning: string;
}

/** Every error a part of Berth can return, in one place. The code is what programs compare. */
export const errorTable = {
  InvalidKey: {
    httpStatus: 400,
    callerMay: 'never',
    meaning: 'a store key is empty, too long, or has a character outside printable ASCII',
  },
  InvalidTransaction: {
    httpStatus: 400,
    callerMay: 'never',
    meaning: 'a transaction writes one key twice, or has more guards, writes or bytes than a store takes',
  },
  Expired: {
    httpStatus: 410,
    callerMay: 'refresh',
    meaning: 'the revision asked for has been compacted; list again',
  },
  FutureRevision: {
    httpStatus: 400,
    callerMay: 'never',
    meaning: 'the revision asked for has not happened yet',
  },
  SlowWatcher: {
    httpStatus: 410,
    callerMay: 'refresh',
    meaning: 'the watcher fell behind its buffer; watch again after the revision in resumeAfter',
  },
  StoreLocked: {
    httpStatus: 503,
    callerMay: 'never',
    meaning: 'another process has the store directory open',
  },
  StoreFormat: {
    httpStatus: 500,
    callerMay: 'never',
    meaning: 'the store directory was written by another version or is damaged',
  },
  StoreFull: {
    httpStatus: 507,
    callerMay: 'backoff',
    meaning: 'no room on the disk; the transaction was not applied',
  },
  StoreOverloaded: {
    httpStatus: 429,
    callerMay: 'backoff',
    meaning: 'too many transactions are waiting; this one was not applied',
  },
  StoreUnavailable: {
    httpStatus: 503,
    callerMay: 'backoff',
    meaning: 'the store cannot be reached or does not take writes now; the request was not applied',
  },
  StoreClosed: {
    httpStatus: 503,
    callerMay: 'never',
    meaning: 'this handle on the store was closed',
  },
} as const satisfies Record<string, ErrorFacts>;

export type ErrorCode = keyof typeof errorTable;

/** An error with a code from the table. `details` holds what a program may want to read, by name. */
export class BerthError extends Error {
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; details?: Readonly<Record<string, unknown>> } = {},
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : {});
    this.name = 'BerthError';
    this.code = code;
    this.details = options.details ?? {};
  }
}

export function isBerthError(error: unknown, code?: ErrorCode): error is BerthError {
  return error instanceof BerthError && (code === undefined || error.code === code);
}

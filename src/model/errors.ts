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
  BadRequest: {
    httpStatus: 400,
    callerMay: 'never',
    meaning: 'the request cannot be read or makes no sense',
  },
  Unauthorized: {
    httpStatus: 401,
    callerMay: 'never',
    meaning: 'the request does not say who sends it, or in a way that is not accepted',
  },
  Forbidden: {
    httpStatus: 403,
    callerMay: 'never',
    meaning: 'the sender may not do this',
  },
  NotFound: {
    httpStatus: 404,
    callerMay: 'refresh',
    meaning: 'there is no such object, kind or path',
  },
  MethodNotAllowed: {
    httpStatus: 405,
    callerMay: 'never',
    meaning: 'the object is there, but this cannot be done to it',
  },
  NotAcceptable: {
    httpStatus: 406,
    callerMay: 'never',
    meaning: 'the answer cannot be given in a form the client accepts',
  },
  AlreadyExists: {
    httpStatus: 409,
    callerMay: 'refresh',
    meaning: 'an object with this name exists',
  },
  Conflict: {
    httpStatus: 409,
    callerMay: 'refresh',
    meaning: 'the object has changed since it was read, or another manager owns a field',
  },
  RequestTooLarge: {
    httpStatus: 413,
    callerMay: 'never',
    meaning: 'the body is larger than the server takes',
  },
  UnsupportedMediaType: {
    httpStatus: 415,
    callerMay: 'never',
    meaning: 'the body is in a form the server does not read',
  },
  Invalid: {
    httpStatus: 422,
    callerMay: 'never',
    meaning: 'the object breaks a rule of its kind; every field concerned is named',
  },
  TooManyRequests: {
    httpStatus: 429,
    callerMay: 'backoff',
    meaning: 'too many requests are under way; this one was not begun',
  },
  NodeNotConnected: {
    httpStatus: 503,
    callerMay: 'backoff',
    meaning: 'the node of the replica has no connection to the control plane; what runs there goes on',
  },
  InternalError: {
    httpStatus: 500,
    callerMay: 'readBack',
    meaning: 'a defect of the server; it is in its log',
  },
  UnknownOutcome: {
    httpStatus: 504,
    callerMay: 'readBack',
    meaning: 'the write may have been applied or not; read back before trying again',
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
  ServerUnreachable: {
    httpStatus: 503,
    callerMay: 'backoff',
    meaning: 'no connection to the server could be made, or a read was cut off; nothing was changed',
  },
  InvalidKubeconfig: {
    httpStatus: 400,
    callerMay: 'never',
    meaning: 'the kubeconfig is missing, cannot be read, or lacks a field that is needed to connect',
  },
  InvalidStoreAddress: {
    httpStatus: 400,
    callerMay: 'never',
    meaning: 'the address of a store is neither lmdb:DIR nor etcd: with URLs',
  },
  InvalidPlugin: {
    httpStatus: 400,
    callerMay: 'never',
    meaning: 'a module of custom filters and scores does not export what it should',
  },
  InvalidQuantity: {
    httpStatus: 400,
    callerMay: 'never',
    meaning: 'an amount is not a number with a known suffix, or is too large or too fine to be kept exactly',
  },
  InvalidDuration: {
    httpStatus: 400,
    callerMay: 'never',
    meaning: 'a duration is not whole numbers with the units h, m, s and ms, largest first',
  },
  InvalidSelector: {
    httpStatus: 400,
    callerMay: 'never',
    meaning: 'a label or field selector cannot be read, or names a field that cannot be selected by',
  },
  TooDeep: {
    httpStatus: 400,
    callerMay: 'never',
    meaning: 'a value is nested deeper than Berth follows',
  },
  InvalidIdentity: {
    httpStatus: 400,
    callerMay: 'never',
    meaning: 'the text or certificate subject names no identity, or one that cannot be given out',
  },
  InvalidToken: {
    httpStatus: 400,
    callerMay: 'never',
    meaning: 'a token was asked for with a lifetime or description that is not allowed',
  },
  TooManyTokens: {
    httpStatus: 403,
    callerMay: 'never',
    meaning: 'the bound on tokens is reached; revoke some first',
  },
  InvalidAgentConfig: {
    httpStatus: 400,
    callerMay: 'never',
    meaning: "an agent's config file, name, or place breaks a rule; what is allowed is said",
  },
  InvalidFleet: {
    httpStatus: 400,
    callerMay: 'never',
    meaning: 'a file of hollow nodes breaks a rule of its form; every field concerned is named',
  },
  InvalidHost: {
    httpStatus: 400,
    callerMay: 'never',
    meaning: 'a certificate was asked for with a host that is neither an address nor a DNS name',
  },
  DirectoryOpen: {
    httpStatus: 500,
    callerMay: 'never',
    meaning: 'other users can read a directory of Berth, and its mode cannot be changed',
  },
  CertificateUnusable: {
    httpStatus: 500,
    callerMay: 'never',
    meaning:
      'a certificate file is damaged, unreadable, expired or does not belong to the others; nothing was written over it',
  },
} as const satisfies Record<string, ErrorFacts>;

export type ErrorCode = keyof typeof errorTable;

/** An error with a code from the table. `details` holds what a program may want to read, by name. */
export class BerthError extends Error {
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>>;
  /** The next step of a person who sent the request. Parts of Berth that meet the error themselves do not print it. */
  readonly advice: string | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; details?: Readonly<Record<string, unknown>>; advice?: string } = {},
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : {});
    this.name = 'BerthError';
    this.code = code;
    this.details = options.details ?? {};
    this.advice = options.advice;
  }
}

export function isBerthError(error: unknown, code?: ErrorCode): error is BerthError {
  return error instanceof BerthError && (code === undefined || error.code === code);
}

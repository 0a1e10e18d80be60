import { BerthError, type ErrorCode, errorTable } from '../model/errors.js';

// The words that stand in a Status for codes of ours which Kubernetes' clients would not know.
const codesElsewhere: Readonly<Record<string, ErrorCode>> = {
  RequestEntityTooLarge: 'RequestTooLarge',
  Timeout: 'UnknownOutcome',
  ServiceUnavailable: 'StoreUnavailable',
  Gone: 'Expired',
};

const isCode = (text: string): text is ErrorCode => Object.hasOwn(errorTable, text);

/** The code that an HTTP status and a Status' reason stand for. A reason nobody knows is told by its HTTP status. */
export function errorCodeOf(httpStatus: number, reason: string | undefined): ErrorCode {
  if (httpStatus === errorTable.StoreFull.httpStatus) return 'StoreFull';
  if (reason !== undefined) {
    if (isCode(reason)) return reason;
    const code = Object.hasOwn(codesElsewhere, reason) ? codesElsewhere[reason] : undefined;
    if (code !== undefined) return code;
  }
  switch (httpStatus) {
    case 401:
      return 'Unauthorized';
    case 403:
      return 'Forbidden';
    case 404:
      return 'NotFound';
    case 405:
      return 'MethodNotAllowed';
    case 406:
      return 'NotAcceptable';
    case 409:
      return 'Conflict';
    case 410:
      return 'Expired';
    case 413:
      return 'RequestTooLarge';
    case 415:
      return 'UnsupportedMediaType';
    case 422:
      return 'Invalid';
    case 429:
      return 'TooManyRequests';
    case 503:
      return 'StoreUnavailable';
    case 504:
      return 'UnknownOutcome';
    default:
      return httpStatus >= 400 && httpStatus < 500 ? 'BadRequest' : 'InternalError';
  }
}

/** Whether an answer is a Status, as every error of a server of Berth is. */
export const isStatus = (body: unknown): boolean =>
  typeof body === 'object' && body !== null && (body as { readonly kind?: unknown }).kind === 'Status';

/** The error that a server's answer tells of. What is no Status is quoted, shortened. */
export function errorOfAnswer(httpStatus: number, body: unknown): BerthError {
  const status = (typeof body === 'object' && body !== null ? body : {}) as {
    readonly reason?: unknown;
    readonly message?: unknown;
    readonly details?: unknown;
    readonly code?: unknown;
  };
  const shown = typeof body === 'string' ? body.slice(0, 200) : '';
  const message =
    typeof status.message === 'string' ? status.message : `the server answered ${httpStatus} ${shown}`.trim();
  const details =
    typeof status.details === 'object' && status.details !== null
      ? (status.details as Readonly<Record<string, unknown>>)
      : {};
  const http = typeof status.code === 'number' ? status.code : httpStatus;
  const code = errorCodeOf(http, typeof status.reason === 'string' ? status.reason : undefined);
  return new BerthError(code, message, { details });
}

import type { Reason } from '../model/reasons.js';
import type { Draft } from './draft.js';

/** What an operation comes to, given what its draft showed. */
export type Decision<T> =
  | { readonly kind: 'commit'; readonly result: (version: string) => T }
  /** The same operation was committed before. */
  | { readonly kind: 'already'; readonly result: T }
  | { readonly kind: 'reject'; readonly reason: Reason; readonly message: string };

/** A pure function of what the draft shows. It may be called any number of times, each time on a fresh draft. */
export type Decide<T> = (draft: Draft) => Decision<T>;

export const commit = <T>(result: T): Decision<T> => ({ kind: 'commit', result: () => result });
export const commitAt = <T>(result: (version: string) => T): Decision<T> => ({ kind: 'commit', result });
export const already = <T>(result: T): Decision<T> => ({ kind: 'already', result });
export const reject = (reason: Reason, message: string): Rejection => ({ kind: 'reject', reason, message });

export type Rejection = { readonly kind: 'reject'; readonly reason: Reason; readonly message: string };

export const isRejection = (value: object): value is Rejection => 'kind' in value && value.kind === 'reject';

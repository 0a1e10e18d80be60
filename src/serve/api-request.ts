import type { Identity } from './identity/identity.js';

/** A request, without the HTTP around it. */
export interface ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly accept: string | undefined;
  readonly contentType: string | undefined;
  readonly userAgent: string | undefined;
  readonly body: Buffer;
  readonly identity: Identity;
  /** Aborts when the client has gone or the server stops. */
  readonly signal: AbortSignal;
}

export type ApiResponse =
  | {
      readonly kind: 'value';
      readonly status: number;
      readonly value: unknown;
      /** The value as JSON, where it was there anyway. */
      readonly json?: string;
      readonly encoding: 'json' | 'yaml';
      readonly warnings: readonly string[];
      /** Where plain application/json does not say enough. */
      readonly contentType?: string;
      /** What a write did, for the audit log; where there is none, the value itself says it. */
      readonly versions?: WrittenVersions;
    }
  | { readonly kind: 'bytes'; readonly bytes: Buffer; readonly contentType: string }
  | {
      readonly kind: 'lines';
      readonly lines: AsyncGenerator<string | Buffer, void>;
      /** Where it is not application/json. */
      readonly contentType?: string;
    };

/** The resourceVersions of an object before and after a write. */
export interface WrittenVersions {
  readonly before: string | undefined;
  readonly after: string;
}

export const valueResponse = (
  status: number,
  value: unknown,
  encoding: 'json' | 'yaml' = 'json',
  warnings: readonly string[] = [],
): ApiResponse => ({ kind: 'value', status, value, encoding, warnings });

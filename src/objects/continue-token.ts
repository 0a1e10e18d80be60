import { BerthError } from '../model/errors.js';
import { asRevision, type Revision } from '../store/contract.js';

/** Where a list that was cut short goes on: after which key, at which revision. */
export interface ContinueToken {
  readonly revision: Revision;
  readonly afterNamespace: string | undefined;
  readonly afterName: string;
}

export function encodeToken({ revision, afterNamespace, afterName }: ContinueToken): string {
  return Buffer.from(JSON.stringify([1, revision, afterNamespace ?? null, afterName])).toString('base64url');
}

export function decodeToken(token: string): ContinueToken {
  try {
    const parts = JSON.parse(Buffer.from(token, 'base64url').toString()) as unknown;
    if (Array.isArray(parts)) {
      const [version, revision, namespace, name] = parts as unknown[];
      if (
        version === 1 &&
        Number.isSafeInteger(revision) &&
        (namespace === null || typeof namespace === 'string') &&
        typeof name === 'string'
      ) {
        return {
          revision: asRevision(Number(revision)),
          afterNamespace: namespace ?? undefined,
          afterName: name,
        };
      }
    }
  } catch {
    // Said below.
  }
  throw new BerthError(
    'BadRequest',
    'the continue token is not one that this server gave out; list again from the start',
  );
}

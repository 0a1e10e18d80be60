import type { Env } from '../env/env.js';
import type { BerthObject } from '../model/object.js';
import type { ServerAccess } from './kubeconfig.js';
import type { RetryPolicy } from './retry-policy.js';

export interface ClientOptions {
  readonly access: ServerAccess;
  readonly env?: Env;
  /** How long one request may take. A write that takes longer has an unknown outcome. */
  readonly timeoutMs?: number;
  /** How long one watch connection is kept before it is made anew. */
  readonly watchMs?: number;
  /** For reads and for following a kind; writes are never tried again. */
  readonly retries?: Partial<RetryPolicy>;
  /** What the server warns of, such as fields it does not know. */
  readonly onWarning?: (text: string) => void;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface Selection extends CallOptions {
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

export interface ListOptions extends Selection {
  /** How many objects are asked for at a time. */
  readonly pageSize?: number;
  /** The list shows this version or a later one. */
  readonly notOlderThan?: number;
}

export interface TableOptions extends ListOptions {
  /** How much of each object comes with its row; its metadata where nothing is said. */
  readonly include?: 'Metadata' | 'Object' | undefined;
}

export interface WriteOptions extends CallOptions {
  readonly fieldManager?: string | undefined;
  readonly dryRun?: boolean | undefined;
  readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore' | undefined;
  readonly subresource?: 'status' | 'scale' | undefined;
}

export type Patch =
  | { readonly type: 'merge'; readonly body: unknown }
  | { readonly type: 'json'; readonly body: readonly unknown[] }
  /** Server-side apply: the manager owns what the body says. */
  | {
      readonly type: 'apply';
      readonly body: unknown;
      readonly fieldManager: string;
      readonly force?: boolean;
    };

export interface DeleteOptions extends CallOptions {
  readonly propagation?: 'Background' | 'Foreground' | 'Orphan' | undefined;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string } | undefined;
  readonly dryRun?: boolean | undefined;
}

/** What is left of a deleted object: nothing, or the object that waits for its finalizers. */
export type Deleted<T extends BerthObject = BerthObject> =
  | { readonly isGone: true }
  | { readonly isGone: false; readonly object: T };

/** An object as it is sent: the server fills in what is left out. */
export type Draft = Readonly<Record<string, unknown>>;

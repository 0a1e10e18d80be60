import type { TSchema } from 'typebox';
import type { NameForm } from './names.js';
import type { BerthObject, FieldError } from './object.js';

/** Who may write a part of an object (DESIGN §3). Everybody else is refused. */
export type Writer =
  | 'user'
  | 'operator'
  | 'workload-controller'
  | 'scheduler'
  | 'commit'
  | 'agent'
  | 'endpoints-controller'
  | 'system'
  | 'nobody';

/** One column of a table that clients print. `path` is a simple JSON path: .spec.replicas */
export interface Column {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  readonly description: string;
  /** 0 is always shown, 1 with -o wide. */
  readonly priority: 0 | 1;
  readonly value: string | ((object: BerthObject) => string | number | boolean | undefined);
}

/**
 * A kind as data: everything that the store of objects, the API server, the documentation and the client
 * need to know of it. Adding a kind is one file with one of these, its line in kinds.ts, and its test.
 */
export interface KindDefinition {
  readonly group: 'berth.dev' | '';
  readonly version: 'v1';
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  /** Tenant: its objects live in a namespace, which is a tenant. */
  readonly scope: 'Cluster' | 'Tenant';
  /** label: up to 63 characters without dots, for names that become part of others or a label's value. */
  readonly nameForm: NameForm;
  readonly description: string;
  /** Schemas of the fields beside apiVersion, kind and metadata: spec, status, or a flat kind's own. */
  readonly fields: Readonly<Record<string, TSchema>>;
  readonly requiredFields: readonly string[];
  readonly writers: { readonly spec: Writer; readonly status: Writer };
  /**
   * Store: in the store of the cell. Server: on the server that made it, for a while; it can be got and listed, and
   * neither be watched nor written.
   */
  readonly keptBy: 'Store' | 'Server';
  /** Users write it: it carries managed fields and takes server-side apply. */
  readonly isApplied: boolean;
  /** Where `scale` finds its numbers, for kinds that can be scaled. */
  readonly scale?: {
    readonly specReplicas: string;
    readonly statusReplicas: string;
    readonly selector?: string;
  };
  readonly columns: readonly Column[];
  /** Field selectors besides metadata.name and metadata.namespace, as paths: spec.nodeName */
  readonly selectableFields: readonly string[];
  /** Fills in what was left out. Pure; applying it twice changes nothing; its result passes `check` if the input's own values do. */
  withDefaults(object: BerthObject): BerthObject;
  /**
   * What the schema cannot say: combinations that cannot keep their promise, immutable fields. All errors at
   * once. Called only with objects that passed the schema, unknown fields aside (validate.ts).
   */
  check(object: BerthObject, before: BerthObject | undefined): readonly FieldError[];
}

/** As manifests write it: berth.dev/v1, or v1 for the kinds of the core. */
export function apiVersionOf({ group, version }: KindDefinition): string {
  return group === '' ? version : `${group}/${version}`;
}

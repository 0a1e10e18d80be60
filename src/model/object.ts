/** The shape of every object, as Kubernetes clients know it. What a kind adds is in its definition (kind.ts). */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** Which fields a manager owns, in the FieldsV1 form that kubectl reads and writes. */
export interface ManagedFieldsEntry {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly time?: string;
  readonly fieldsType: 'FieldsV1';
  readonly fieldsV1: { readonly [name: string]: Json };
  readonly subresource?: string;
}

export interface ObjectMeta {
  readonly name: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Grows with every change of the spec. */
  readonly generation: number;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
  readonly managedFields?: readonly ManagedFieldsEntry[];
}

export interface BerthObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>>;
  /** Kinds without spec and status (Event) have fields of their own. */
  readonly [field: string]: unknown;
}

/** One thing that is wrong with an object: where, what is there, and what would be allowed. */
export interface FieldError {
  /** As people write it: spec.template.resources.cpu, spec.taints[2].key */
  readonly path: string;
  readonly value?: unknown;
  readonly message: string;
  readonly reason:
    | 'Required'
    | 'Invalid'
    | 'NotSupported'
    | 'Unknown'
    | 'Forbidden'
    | 'Duplicate'
    | 'TooLong';
}

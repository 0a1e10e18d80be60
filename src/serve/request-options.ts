import { BerthError } from '../model/errors.js';
import { matchesFields, parseFieldSelector } from '../model/field-selector.js';
import type { KindDefinition } from '../model/kind.js';
import { matchesLabels, parseLabelSelector } from '../model/label-selector.js';
import type { BerthObject } from '../model/object.js';
import type { FieldValidation } from '../objects/admission.js';
import type { Propagation } from '../objects/object-store.js';

/** Reads the query of a request. Each function answers a wrong value with its name, the value and what is allowed. */

function oneOf<T extends string>(query: URLSearchParams, name: string, allowed: readonly T[]): T | undefined {
  const value = query.get(name);
  if (value === null || value === '') return undefined;
  const found = allowed.find((candidate) => candidate === value);
  if (found === undefined) throw badParameter(name, value, `allowed: ${allowed.join(', ')}`);
  return found;
}

function badParameter(name: string, value: string, allowed: string): BerthError {
  return new BerthError('BadRequest', `query parameter ${name}=${JSON.stringify(value)}: ${allowed}`);
}

export function isTrue(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  if (value === null) return false;
  // A parameter that is there without a value is on.
  if (['', 'true', '1', 't', 'T', 'TRUE', 'True'].includes(value)) return true;
  if (['false', '0', 'f', 'F', 'FALSE', 'False'].includes(value)) return false;
  throw badParameter(name, value, 'allowed: true, false');
}

export function wholeNumber(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (value === null || value === '') return undefined;
  if (!/^\d{1,15}$/.test(value)) throw badParameter(name, value, 'a whole number is needed');
  return Number(value);
}

export function isDryRun(query: URLSearchParams): boolean {
  return query.getAll('dryRun').some((value) => {
    if (value !== 'All' && value !== '') throw badParameter('dryRun', value, 'allowed: All');
    return value === 'All';
  });
}

/** Kubernetes' API warns of unknown fields unless asked for more; kubectl asks for Strict. */
export const fieldValidationOf = (query: URLSearchParams): FieldValidation =>
  oneOf(query, 'fieldValidation', ['Strict', 'Warn', 'Ignore']) ?? 'Warn';

export const propagationOf = (query: URLSearchParams, body: unknown): Propagation | undefined => {
  const inBody = (body as { propagationPolicy?: unknown } | undefined)?.propagationPolicy;
  const merged = new URLSearchParams(typeof inBody === 'string' ? { propagationPolicy: inBody } : query);
  return oneOf(merged, 'propagationPolicy', ['Background', 'Foreground', 'Orphan']);
};

const managerLengthMax = 128;

/** Who a change is put down to: the client says, or its program's name is taken. */
export function fieldManagerOf(query: URLSearchParams, userAgent: string | undefined): string {
  const asked = query.get('fieldManager');
  if (asked === null || asked === '')
    return (userAgent?.split('/')[0] || 'unknown').slice(0, managerLengthMax);
  if (asked.length > managerLengthMax || !/^[\x20-\x7e]+$/.test(asked)) {
    throw badParameter('fieldManager', asked, `1 to ${managerLengthMax} printable characters are needed`);
  }
  return asked;
}

/** The fields that objects of a kind can be selected by. */
export const selectableBy = (kind: KindDefinition): readonly string[] => [
  'metadata.name',
  ...(kind.scope === 'Tenant' ? ['metadata.namespace'] : []),
  ...kind.selectableFields,
];

/** The condition that the selectors of a query make, or undefined if there is none. */
export function selectionOf(
  kind: KindDefinition,
  query: URLSearchParams,
): ((object: BerthObject) => boolean) | undefined {
  const labels = parseLabelSelector(query.get('labelSelector') ?? '');
  const fields = parseFieldSelector(query.get('fieldSelector') ?? '', selectableBy(kind));
  if (labels.length === 0 && fields.length === 0) return undefined;
  return (object) => matchesLabels(labels, object.metadata.labels) && matchesFields(fields, object);
}

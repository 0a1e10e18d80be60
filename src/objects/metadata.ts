import { isDeepStrictEqual } from 'node:util';
import type { Env } from '../env/env.js';
import { wallTimestamp } from '../env/instant.js';
import type { KindDefinition } from '../model/kind.js';
import type { BerthObject, ObjectMeta } from '../model/object.js';
import { conflict } from './object-errors.js';

// What generateName adds: without vowels and look-alikes, so that no word appears by chance.
const suffixLetters = 'bcdfghjklmnpqrstvwxz2456789';
const suffixLength = 5;
const nameLengthMax = 253;

/** Seconds are enough for people, and that is who timestamps are for. */
export const timestamp = (env: Env): string =>
  `${wallTimestamp(env.clock.wall()).slice(0, -'.000Z'.length)}Z`;

export function generatedName(prefix: string, env: Env): string {
  let suffix = '';
  for (let count = 0; count < suffixLength; count++)
    suffix += suffixLetters[env.random.integer(suffixLetters.length)];
  return prefix.slice(0, nameLengthMax - suffixLength) + suffix;
}

/** Who writes an object: Berth's own controllers put its finalizers on and take them off, and nobody else does. */
export type Author = 'client' | 'controller';

const isOwnFinalizer = (name: string): boolean => name.startsWith('berth.dev/');

/** What must be done before an object may go is not for clients to forget, as who replaces a whole object would. */
function finalizersBy(
  author: Author,
  asked: readonly string[] | undefined,
  live: readonly string[] = [],
): readonly string[] | undefined {
  if (author === 'controller') return asked;
  const wanted = (asked ?? []).filter((name) => !isOwnFinalizer(name) || live.includes(name));
  return [...wanted, ...live.filter((name) => isOwnFinalizer(name) && !wanted.includes(name))];
}

/**
 * Whether what the server itself reads of metadata, before the schema has looked at it, is of the right shape. What is
 * not goes to admission as it came, which names the field.
 */
export function isReadable(asked: ObjectMeta): boolean {
  // Clients write null for what they leave out.
  const generateName: unknown = asked.generateName ?? '';
  const finalizers: unknown = asked.finalizers ?? [];
  return (
    typeof generateName === 'string' &&
    Array.isArray(finalizers) &&
    finalizers.every((name) => typeof name === 'string')
  );
}

/** The metadata of a new object: what the server decides is decided here, whatever the client wrote. */
export function newMetadata(
  asked: ObjectMeta,
  name: string,
  namespace: string | undefined,
  { env, author }: { readonly env: Env; readonly author: Author },
): ObjectMeta {
  const { generateName, labels, annotations, ownerReferences, managedFields } = asked;
  return compact({
    name,
    generateName,
    namespace,
    uid: env.uuid(),
    resourceVersion: '',
    generation: 1,
    creationTimestamp: timestamp(env),
    labels,
    annotations,
    ownerReferences,
    finalizers: finalizersBy(author, asked.finalizers),
    managedFields,
  }) as unknown as ObjectMeta;
}

/** The metadata after an update: the client decides labels, annotations, owners and their own finalizers, nothing else. */
export function updatedMetadata(live: ObjectMeta, asked: ObjectMeta, author: Author): ObjectMeta {
  const { labels, annotations, ownerReferences, managedFields } = asked;
  const {
    labels: _l,
    annotations: _a,
    ownerReferences: _o,
    finalizers: _f,
    managedFields: _m,
    ...kept
  } = live;
  return compact({
    ...kept,
    labels,
    annotations,
    ownerReferences,
    finalizers: finalizersBy(author, asked.finalizers, live.finalizers),
    managedFields,
  }) as unknown as ObjectMeta;
}

/** Refuses a write that was made for another object or another version of this one. */
export function checkIdentity(kind: KindDefinition, live: BerthObject, asked: Partial<ObjectMeta>): void {
  const { name } = live.metadata;
  if (asked.uid !== undefined && asked.uid !== '' && asked.uid !== live.metadata.uid) {
    throw conflict(kind, name, `the uid given is ${asked.uid}, the object has ${live.metadata.uid}`);
  }
  if (
    asked.resourceVersion !== undefined &&
    asked.resourceVersion !== '' &&
    asked.resourceVersion !== live.metadata.resourceVersion
  ) {
    throw conflict(
      kind,
      name,
      'the object has been modified',
      'read it again and apply the change to the latest version',
    );
  }
}

/** Whether the part that belongs to `spec`, everything but metadata and status, differs. */
export function isSpecChanged(before: BerthObject, after: BerthObject): boolean {
  const { metadata: _1, status: _2, ...a } = before;
  const { metadata: _3, status: _4, ...b } = after;
  return !isDeepStrictEqual(a, b);
}

/** Leaves out what is undefined or an empty map or list, as JSON from a client would. */
function compact(fields: Record<string, unknown>): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const name of Object.keys(fields)) {
    const value = fields[name];
    if (value === undefined) continue;
    if (typeof value === 'object' && value !== null && Object.keys(value).length === 0) continue;
    kept[name] = value;
  }
  return kept;
}

import { BerthError } from '../model/errors.js';
import type { KindDefinition } from '../model/kind.js';
import type { ObjectKey } from './keys.js';

const about = (kind: KindDefinition, name: string): string =>
  `${kind.plural}${kind.group === '' ? '' : `.${kind.group}`} ${JSON.stringify(name)}`;

const detailsOf = (kind: KindDefinition, name: string): Record<string, unknown> => ({
  kind: kind.plural,
  group: kind.group,
  name,
});

export const notFound = (kind: KindDefinition, { name }: Pick<ObjectKey, 'name'>): BerthError =>
  new BerthError('NotFound', `${about(kind, name)} not found`, { details: detailsOf(kind, name) });

export const alreadyExists = (kind: KindDefinition, name: string): BerthError =>
  new BerthError('AlreadyExists', `${about(kind, name)} already exists`, { details: detailsOf(kind, name) });

export const conflict = (kind: KindDefinition, name: string, why: string, advice?: string): BerthError =>
  new BerthError('Conflict', `operation cannot be fulfilled on ${about(kind, name)}: ${why}`, {
    details: detailsOf(kind, name),
    ...(advice !== undefined && { advice }),
  });

export const unknownOutcome = (kind: KindDefinition, name: string, cause: Error): BerthError =>
  new BerthError(
    'UnknownOutcome',
    `it is not known whether the write to ${about(kind, name)} was applied (${cause.message})`,
    { cause, details: detailsOf(kind, name), advice: 'read it back before trying again' },
  );

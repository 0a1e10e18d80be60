import type { KindDefinition } from '../model/kind.js';
import type { BerthObject } from '../model/object.js';
import { asRevision, type ChangeSet } from '../store/contract.js';
import type { ObjectEvent } from './cached-object.js';
import type { ObjectCache } from './object-cache.js';

export interface ObjectWatchOptions {
  readonly namespace?: string;
  readonly matches?: (object: BerthObject) => boolean;
  /** The last resourceVersion the watcher knows. If it is that of an object, all changes of its revision are told again. */
  readonly after: number;
  readonly signal?: AbortSignal;
}

export interface SeenChange {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: BerthObject;
}

/** What has happened since the last turn, as a watcher of some objects sees it, and up to which resourceVersion. */
export interface SeenChanges {
  readonly changes: readonly SeenChange[];
  readonly upTo: number;
}

/**
 * Watches the objects of a kind. An object that begins to match is ADDED for this watcher, one that ceases to
 * is DELETED, whatever really happened to it.
 */
export async function* watchObjects(
  cache: ObjectCache,
  kind: KindDefinition,
  options: ObjectWatchOptions,
): AsyncGenerator<SeenChanges, void> {
  const { namespace, matches = () => true, after, signal } = options;
  const isSeen = (object: BerthObject | undefined): boolean => object !== undefined && matches(object);
  for await (const sets of cache.watch({
    after: asRevision(cache.versions.completeRevision(after)),
    ...(signal === undefined ? {} : { signal }),
  })) {
    const changes: SeenChange[] = [];
    for (const { key, type, object, before } of eventsOf(sets)) {
      if (key.kind !== kind.kind || (namespace !== undefined && key.namespace !== namespace)) continue;
      const was = isSeen(before);
      const is = type !== 'DELETED' && isSeen(object);
      if (is) changes.push({ type: was ? 'MODIFIED' : 'ADDED', object });
      else if (was)
        changes.push({ type: 'DELETED', object: type === 'DELETED' ? object : lastSeen(before, object) });
    }
    yield { changes, upTo: cache.versions.upTo((sets.at(-1) as ChangeSet<ObjectEvent>).revision) };
  }
}

/**
 * The objects that a watch begins with if the client names no version, in the order of their versions. A client that is cut
 * off meanwhile resumes at the version of the last object it was told; the objects it was not told are at that version or
 * a later one, so the watch tells them.
 */
export function initialObjects(
  cache: ObjectCache,
  kind: KindDefinition,
  { namespace, matches = () => true }: Pick<ObjectWatchOptions, 'namespace' | 'matches'>,
): BerthObject[] {
  return [...cache.list(kind.kind, namespace)]
    .filter(({ object }) => matches(object))
    .toSorted((one, other) => one.version - other.version)
    .map(({ object }) => object);
}

/** An object that no longer matches, as it was when it did, with the revision at which it ceased to. */
function lastSeen(before: BerthObject | undefined, now: BerthObject): BerthObject {
  if (before === undefined) return now;
  return { ...before, metadata: { ...before.metadata, resourceVersion: now.metadata.resourceVersion } };
}

function* eventsOf(sets: readonly ChangeSet<ObjectEvent>[]): Generator<ObjectEvent> {
  for (const set of sets) yield* set.changes;
}

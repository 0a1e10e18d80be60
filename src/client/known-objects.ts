import type { BerthObject } from '../model/object.js';

export interface Change<T extends BerthObject = BerthObject> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: T;
}

const keyOf = ({ metadata }: BerthObject): string => `${metadata.namespace ?? ''}/${metadata.name}`;
const versionOf = ({ metadata }: BerthObject): number => Number(metadata.resourceVersion);

/**
 * What a consumer has been told so far, and from where a cut watch goes on. It turns lists and the events of any
 * number of watches into changes of which none is told twice and none is left out.
 */
export class KnownObjects<T extends BerthObject = BerthObject> {
  readonly #objects = new Map<string, T>();
  // The newest version of an event, a list or a bookmark. A server that is asked to resume at the version of an object tells
  // all changes of its transaction again, so nothing is lost where a watch was cut in the middle of them.
  #newest = 0;

  /** The version at which a watch goes on. */
  get resumeAfter(): number {
    return this.#newest;
  }

  /** The changes between what was known and a list of all there is at `version`. */
  *relisted(objects: readonly T[], version: number): Generator<Change<T>, void> {
    const listed = new Map(objects.map((object) => [keyOf(object), object]));
    for (const [key, known] of this.#objects) {
      const now = listed.get(key);
      if (now !== undefined && now.metadata.uid === known.metadata.uid) continue;
      this.#objects.delete(key);
      yield { type: 'DELETED', object: known };
    }
    for (const [key, object] of listed) {
      const known = this.#objects.get(key);
      if (known !== undefined && versionOf(known) >= versionOf(object)) continue;
      this.#objects.set(key, object);
      yield { type: known === undefined ? 'ADDED' : 'MODIFIED', object };
    }
    this.#newest = version;
  }

  /** What an event of a watch means for the consumer; undefined if it has been told. */
  seen({ type, object }: Change<T>): Change<T> | undefined {
    const key = keyOf(object);
    const version = versionOf(object);
    const known = this.#objects.get(key);
    this.#newest = Math.max(this.#newest, version);
    if (type === 'DELETED') {
      if (known === undefined || versionOf(known) > version) return undefined;
      this.#objects.delete(key);
      return { type, object };
    }
    if (known !== undefined && versionOf(known) >= version) return undefined;
    this.#objects.set(key, object);
    return { type: known === undefined ? 'ADDED' : 'MODIFIED', object };
  }

  /** The server says that everything up to `version` has been sent. */
  bookmarked(version: number): void {
    this.#newest = Math.max(this.#newest, version);
  }
}

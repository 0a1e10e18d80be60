import type { BerthObject } from './object.js';
import type { ObjectChange, Objects } from './ports.js';

/**
 * Which objects of a kind belong together: the replicas of a workload, of a revision. It holds names alone, and
 * reads go to the cache: an object that is gone meanwhile is not given out, one that has just come may be missing
 * until the next change is told.
 */
export class ObjectIndex<T extends BerthObject> {
  readonly #names = new Map<string, Map<string, { namespace: string | undefined; name: string }>>();

  constructor(
    private readonly objects: Objects,
    private readonly kind: string,
    private readonly groupOf: (object: T) => string | undefined,
  ) {}

  /** Follows changes until the signal aborts. Start it before the controllers that read it. */
  start(signal: AbortSignal): void {
    this.objects.follow(
      (change) => this.note(change),
      () => this.fill(),
      signal,
    );
    this.fill();
  }

  /** For whoever follows changes already: takes one in. */
  note(change: ObjectChange): void {
    if (change.kind !== this.kind) return;
    const { type, object, before } = change;
    if (before !== undefined) this.#remove(before as T);
    if (type === 'DELETED') this.#remove(object as T);
    else this.#add(object as T);
  }

  /** The members of a group, as the cache shows them now. */
  *of(group: string): Generator<T> {
    for (const { namespace, name } of this.#names.get(group)?.values() ?? []) {
      const object = this.objects.get<T>(this.kind, namespace, name);
      if (object !== undefined && this.groupOf(object) === group) yield object;
    }
  }

  groups(): Iterable<string> {
    return this.#names.keys();
  }

  /** Lists all anew, after changes may have been missed. */
  fill(): void {
    this.#names.clear();
    for (const object of this.objects.list<T>(this.kind)) this.#add(object);
  }

  #add(object: T): void {
    const group = this.groupOf(object);
    if (group === undefined) return;
    const { namespace, name } = object.metadata;
    let members = this.#names.get(group);
    if (members === undefined) {
      members = new Map();
      this.#names.set(group, members);
    }
    members.set(shown(object), { namespace, name });
  }

  #remove(object: T): void {
    const group = this.groupOf(object);
    if (group === undefined) return;
    const members = this.#names.get(group);
    members?.delete(shown(object));
    if (members?.size === 0) this.#names.delete(group);
  }
}

const shown = ({ metadata: { namespace = '', name } }: BerthObject): string => `${namespace}/${name}`;

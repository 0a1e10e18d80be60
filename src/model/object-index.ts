import type { BerthObject } from './object.js';
import type { ObjectChange, Objects } from './ports.js';

/**
 * Which objects of a kind belong together: the replicas of a workload, of a revision. It holds names alone, and
 * reads go to the cache: an object that is gone meanwhile is not given out, one that has just come may be missing
 * until the next change is told.
 */
export class ObjectIndex<T extends BerthObject> {
  // As `TENANT/NAME`: there may be very many.
  readonly #names = new Map<string, Set<string>>();
  // Of the last change it was told, of whatever kind: changes are told in the order of their versions.
  #version = 0;

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
    // One that was deleted still has the version it had.
    if (change.type !== 'DELETED') this.#version = change.version;
    if (change.kind !== this.kind) return;
    const { type, object, before } = change;
    const [from, to] = [before && this.groupOf(before as T), this.groupOf(object as T)];
    if (from !== undefined && from !== to) this.#remove(from, object);
    if (to === undefined) return;
    if (type === 'DELETED') this.#remove(to, object);
    else if (from !== to) this.#add(to, object);
  }

  /** The members of a group, as the cache shows them now. */
  *of(group: string): Generator<T> {
    for (const shownName of this.#names.get(group) ?? []) {
      const slash = shownName.indexOf('/');
      const namespace = slash === 0 ? undefined : shownName.slice(0, slash);
      const object = this.objects.get<T>(this.kind, namespace, shownName.slice(slash + 1));
      if (object !== undefined && this.groupOf(object) === group) yield object;
    }
  }

  /** Whether nothing is missing that came before an object of this version, which whoever asks has seen in the cache. */
  isAsNewAs(resourceVersion: string): boolean {
    return this.#version >= Number(resourceVersion);
  }

  groups(): Iterable<string> {
    return this.#names.keys();
  }

  /** Lists all anew, after changes may have been missed. */
  fill(): void {
    this.#names.clear();
    this.#version = Number(this.objects.version);
    for (const object of this.objects.list<T>(this.kind)) {
      const group = this.groupOf(object);
      if (group !== undefined) this.#add(group, object);
    }
  }

  #add(group: string, object: BerthObject): void {
    const members = this.#names.get(group);
    if (members === undefined) this.#names.set(group, new Set([shown(object)]));
    else members.add(shown(object));
  }

  #remove(group: string, object: BerthObject): void {
    const members = this.#names.get(group);
    members?.delete(shown(object));
    if (members?.size === 0) this.#names.delete(group);
  }
}

const shown = ({ metadata: { namespace = '', name } }: BerthObject): string => `${namespace}/${name}`;

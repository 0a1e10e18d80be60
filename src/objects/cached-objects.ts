import { BerthError } from '../model/errors.js';
import type { KindDefinition } from '../model/kind.js';
import { kindNamed } from '../model/kinds.js';
import type { BerthObject } from '../model/object.js';
import type { ObjectChange, Objects } from '../model/ports.js';
import { Followers } from './followers.js';
import type { ObjectCache } from './object-cache.js';
import type { ObjectStore } from './object-store.js';

/** The port of controllers that run in the process of the store's handle: reads from its cache, guarded writes. */
export class CachedObjects implements Objects {
  readonly #followers: Followers;

  constructor(
    private readonly parts: {
      readonly objects: ObjectStore;
      readonly cache: ObjectCache;
      /** Whose changes these are, for the managed fields of kinds that users write. */
      readonly manager: string;
    },
  ) {
    this.#followers = new Followers(parts.cache);
  }

  get version(): string {
    return String(this.parts.cache.version);
  }

  get<T extends BerthObject>(kind: string, namespace: string | undefined, name: string): T | undefined {
    return this.parts.cache.get({ kind, namespace, name })?.object as T | undefined;
  }

  *list<T extends BerthObject>(kind: string, namespace?: string): Generator<T> {
    for (const { object } of this.parts.cache.list(kind, namespace)) yield object as T;
  }

  async create<T extends BerthObject>(
    kind: string,
    namespace: string | undefined,
    draft: object,
  ): Promise<T> {
    const { objects, manager } = this.parts;
    const options = { manager, author: 'controller' } as const;
    const { object } = await objects.create(kindOf(kind), namespace, draft as BerthObject, options);
    return object as T;
  }

  async modify<T extends BerthObject>(
    kind: string,
    namespace: string | undefined,
    name: string,
    part: 'spec' | 'status',
    change: (live: T) => T | undefined,
  ): Promise<T> {
    const { objects, manager } = this.parts;
    const key = { kind, namespace, name };
    const asked = (live: BerthObject): BerthObject => change(live as T) ?? live;
    const { object } = await objects.modify(kindOf(kind), key, part, asked, {
      manager,
      author: 'controller',
    });
    return object as T;
  }

  async delete(kind: string, namespace: string | undefined, name: string, uid: string): Promise<void> {
    await this.parts.objects.delete(
      kindOf(kind),
      { kind, namespace, name },
      { propagation: 'Background', preconditions: { uid } },
    );
  }

  follow(
    onChange: (change: ObjectChange) => void,
    onGap: () => void,
    signal: AbortSignal,
    kinds?: ReadonlySet<string>,
  ): void {
    this.#followers.add(onChange, onGap, signal, kinds);
  }
}

function kindOf(name: string): KindDefinition {
  const kind = kindNamed(name);
  if (kind === undefined) throw new BerthError('NotFound', `there is no kind ${name}`);
  return kind;
}

import type { Env } from '../env/env.js';
import { BerthError } from '../model/errors.js';
import { isBerthError } from '../model/errors.js';
import type { KindDefinition } from '../model/kind.js';
import { kindNamed } from '../model/kinds.js';
import type { BerthObject } from '../model/object.js';
import type { ObjectChange, Objects } from '../model/ports.js';
import type { ObjectCache } from './object-cache.js';
import type { ObjectStore } from './object-store.js';

const rewatchDelayMs = 100;

/** Objects for controllers in the same process as the cache. */
export class LocalObjects implements Objects {
  constructor(
    private readonly parts: { readonly objects: ObjectStore; readonly cache: ObjectCache; readonly env: Env },
  ) {}

  get version(): string {
    return String(this.parts.cache.version);
  }

  get<T extends BerthObject>(kind: string, namespace: string | undefined, name: string): T | undefined {
    // A parsed boundary: what is in the cache was checked when it was written.
    return this.parts.cache.get({ kind, namespace, name })?.object as T | undefined;
  }

  *list<T extends BerthObject>(kind: string, namespace?: string): Iterable<T> {
    for (const { object } of this.parts.cache.list(kind, namespace)) yield object as T;
  }

  async create<T extends BerthObject>(
    kind: string,
    namespace: string | undefined,
    draft: object,
  ): Promise<T> {
    const { object } = await this.parts.objects.create(definitionOf(kind), namespace, draft as BerthObject);
    return object as T;
  }

  async modify<T extends BerthObject>(
    kind: string,
    namespace: string | undefined,
    name: string,
    part: 'spec' | 'status',
    change: (live: T) => T | undefined,
  ): Promise<T> {
    const { object } = await this.parts.objects.modify(
      definitionOf(kind),
      { kind, namespace, name },
      part,
      (live) => change(live as T) ?? live,
    );
    return object as T;
  }

  async delete(kind: string, namespace: string | undefined, name: string, uid: string): Promise<void> {
    await this.parts.objects.delete(
      definitionOf(kind),
      { kind, namespace, name },
      { preconditions: { uid } },
    );
  }

  follow(onChange: (change: ObjectChange) => void, onGap: () => void, signal: AbortSignal): void {
    void this.#follow(onChange, onGap, signal);
  }

  async #follow(
    onChange: (change: ObjectChange) => void,
    onGap: () => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { cache, env } = this.parts;
    while (!signal.aborted) {
      try {
        for await (const sets of cache.watch({ after: cache.revision, signal }))
          for (const { changes } of sets)
            for (const { type, key, object, before } of changes)
              onChange({ type, kind: key.kind, object, before });
      } catch (error) {
        if (isBerthError(error, 'StoreClosed')) return;
        await env.sleep(rewatchDelayMs, signal).catch(() => undefined);
      }
      if (!signal.aborted) onGap();
    }
  }
}

function definitionOf(kind: string): KindDefinition {
  const definition = kindNamed(kind);
  if (definition === undefined) throw new BerthError('NotFound', `there is no kind ${kind}`);
  return definition;
}

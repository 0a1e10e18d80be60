import { isDeepStrictEqual } from 'node:util';
import { BerthError } from './errors.js';
import type { BerthObject } from './object.js';
import type { ObjectChange, Objects } from './ports.js';

interface Follower {
  readonly onChange: (change: ObjectChange) => void;
  readonly onGap: () => void;
}

/** Objects in a map, without a store: for tests of what stands above them. Changes are told at once. */
export class FakeObjects implements Objects {
  readonly #objects = new Map<string, BerthObject>();
  readonly #followers = new Set<Follower>();
  #version = 0;

  get version(): string {
    return String(this.#version);
  }

  get<T extends BerthObject>(kind: string, namespace: string | undefined, name: string): T | undefined {
    return this.#objects.get(keyOf(kind, namespace, name)) as T | undefined;
  }

  *list<T extends BerthObject>(kind: string, namespace?: string): Generator<T> {
    for (const object of this.#objects.values())
      if (object.kind === kind && (namespace === undefined || object.metadata.namespace === namespace))
        yield object as T;
  }

  /** Puts an object there as it is, as if somebody else had written it. */
  put(object: BerthObject): void {
    const { namespace, name } = object.metadata;
    const before = this.get(object.kind, namespace, name);
    this.#version += 1;
    const metadata = { ...object.metadata, resourceVersion: String(this.#version) };
    const written = { ...object, metadata };
    this.#objects.set(keyOf(object.kind, namespace, name), written);
    this.#tell({
      type: before === undefined ? 'ADDED' : 'MODIFIED',
      kind: object.kind,
      version: this.#version,
      object: written,
      before,
    });
  }

  /** Changes an object without telling anybody, as a watch that was cut would. */
  putUnseen(object: BerthObject): void {
    const { namespace, name } = object.metadata;
    this.#version += 1;
    this.#objects.set(keyOf(object.kind, namespace, name), object);
  }

  remove(kind: string, namespace: string | undefined, name: string): void {
    const before = this.get(kind, namespace, name);
    if (before === undefined) return;
    this.#objects.delete(keyOf(kind, namespace, name));
    this.#tell({ type: 'DELETED', kind, version: this.#version, object: before, before });
  }

  gap(): void {
    for (const { onGap } of this.#followers) onGap();
  }

  get followers(): number {
    return this.#followers.size;
  }

  create<T extends BerthObject>(kind: string, namespace: string | undefined, draft: object): Promise<T> {
    const { metadata, ...rest } = draft as BerthObject;
    if (this.get(kind, namespace, metadata.name) !== undefined)
      return Promise.reject(new BerthError('AlreadyExists', `${kind} ${metadata.name} exists`));
    const uid = metadata.uid ?? `uid-${this.#version}`;
    this.put({
      ...rest,
      kind,
      metadata: { ...metadata, ...(namespace !== undefined && { namespace }), uid },
    });
    return Promise.resolve(this.get<T>(kind, namespace, metadata.name) as T);
  }

  modify<T extends BerthObject>(
    kind: string,
    namespace: string | undefined,
    name: string,
    _part: 'spec' | 'status',
    change: (live: T) => T | undefined,
  ): Promise<T> {
    const live = this.get<T>(kind, namespace, name);
    if (live === undefined) return Promise.reject(new BerthError('NotFound', `${kind} ${name} is not there`));
    const next = change(live);
    if (next !== undefined && !isDeepStrictEqual(next, live)) this.put(next);
    return Promise.resolve(this.get<T>(kind, namespace, name) as T);
  }

  delete(kind: string, namespace: string | undefined, name: string, uid: string): Promise<void> {
    const live = this.get(kind, namespace, name);
    if (live?.metadata.uid !== uid)
      return Promise.reject(new BerthError('NotFound', `${kind} ${name} is not there`));
    this.remove(kind, namespace, name);
    return Promise.resolve();
  }

  follow(onChange: (change: ObjectChange) => void, onGap: () => void, signal: AbortSignal): void {
    const follower = { onChange, onGap };
    this.#followers.add(follower);
    signal.addEventListener('abort', () => this.#followers.delete(follower), { once: true });
  }

  #tell(change: ObjectChange): void {
    for (const { onChange } of this.#followers) onChange(change);
  }
}

const keyOf = (kind: string, namespace: string | undefined, name: string): string =>
  `${kind}/${namespace ?? ''}/${name}`;

/** An object of any kind with the metadata a server would give it. */
export const objectOf = (
  kind: string,
  namespace: string | undefined,
  name: string,
  parts: { metadata?: object; spec?: object; status?: object } = {},
): BerthObject =>
  ({
    apiVersion: 'berth.dev/v1',
    kind,
    metadata: {
      ...{ name, uid: `uid-${name}`, resourceVersion: '1', generation: 1 },
      ...{ creationTimestamp: '2026-01-01T00:00:00Z' },
      ...(namespace !== undefined && { namespace }),
      ...parts.metadata,
    },
    ...(parts.spec && { spec: parts.spec }),
    ...(parts.status && { status: parts.status }),
  }) as unknown as BerthObject;

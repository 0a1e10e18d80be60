import type { Records } from '../model/ports.js';
import type { ObjectCache } from './object-cache.js';

/** The records of a cache, for those who keep a picture of the whole cell. */
export class CachedRecords implements Records {
  constructor(private readonly cache: ObjectCache) {}

  get version(): string {
    return String(this.cache.version);
  }

  read(key: string): unknown {
    return this.cache.record(key)?.value;
  }

  *entries(prefix: string): Generator<readonly [key: string, value: unknown]> {
    for (const [key, { value }] of this.cache.records(prefix)) yield [key, value];
  }

  follow(onChange: (key: string, value: unknown) => void, signal: AbortSignal): void {
    this.cache.listen(onChange, signal);
  }
}

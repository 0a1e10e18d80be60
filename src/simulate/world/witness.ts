import type { Commit, Violation } from '../checkers/checker.js';
import { WatchWitness } from '../checkers/watch-witness.js';
import { watchObjects } from '../../objects/object-watch.js';
import { kindNamed } from '../../model/kinds.js';
import type { BerthObject } from '../../model/object.js';
import { isBerthError } from '../../model/errors.js';
import type { Reach } from './server.js';

/** Watches replicas through the caches of servers and compares what arrives with what was committed (S11). */
export class Witness {
  // Of a replica's two keys it is the status that changes; an event of the object is one of this key.
  readonly #truth = new WatchWitness('/s/Replica/');
  readonly #forgotten = new Set<string>();

  constructor(private readonly onViolation: (violation: Violation) => void) {}

  get checked(): number {
    return this.#truth.checked;
  }

  onCommit(commit: Commit): void {
    this.#truth.onCommit(commit);
  }

  /** The store has forgotten what a server missed: its cache knows the difference, and no single changes. */
  forgot(server: string): void {
    this.#forgotten.add(server);
  }

  /** Follows one server's cache for as long as it lives. */
  async follow({ cache, life }: Reach): Promise<void> {
    const kind = kindNamed('Replica');
    if (kind === undefined) throw new Error('there is no kind Replica');
    const watcher = this.#truth.watcher(`a watcher at ${life.member.name}`);
    const tell = (violations: readonly Violation[]): void => violations.forEach(this.onViolation);
    while (!life.isOver) {
      const after = cache.version;
      const seen = new Map([...cache.list('Replica')].map(({ object }) => [keyOf(object), object.status]));
      tell(
        watcher.listed(
          after,
          [...cache.list('Replica')].map(({ object }) => [keyOf(object), { status: object.status }] as const),
        ),
      );
      try {
        for await (const { changes, upTo } of watchObjects(cache, kind, { after })) {
          if (this.#forgotten.delete(life.member.name)) break;
          for (const { type, object } of changes) {
            // A change of its metadata alone is one of its other key.
            if (type === 'MODIFIED' && seen.get(keyOf(object)) === object.status) continue;
            seen.set(keyOf(object), object.status);
            tell(
              watcher.delivered({
                revision: Number(object.metadata.resourceVersion),
                key: keyOf(object),
                after: type === 'DELETED' ? undefined : { status: object.status },
              }),
            );
          }
          tell(watcher.reached(upTo));
        }
      } catch (error) {
        if (isBerthError(error, 'StoreClosed')) return;
        watcher.gap();
        await life.env.sleep(100);
      }
    }
  }
}

const keyOf = ({ metadata }: BerthObject): string => `/s/Replica/${metadata.namespace}/${metadata.name}`;

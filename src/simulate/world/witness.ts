import type { Commit, Violation } from '../checkers/checker.js';
import { simulatedVersions } from '../checkers/simulated-versions.js';
import { WatchWitness } from '../checkers/watch-witness.js';
import { watchObjects } from '../../objects/object-watch.js';
import { kindNamed } from '../../model/kinds.js';
import type { KindDefinition } from '../../model/kind.js';
import type { BerthObject } from '../../model/object.js';
import { isBerthError } from '../../model/errors.js';
import { statusKey } from '../../model/records.js';
import { Informer } from './informer.js';
import type { Reach } from './server.js';

/** Watches replicas through the caches of servers and compares what arrives with what was committed (S11). */
export class Witness {
  // Of a replica's two keys it is the status that changes; an event of the object is one of this key.
  readonly #truth = new WatchWitness('/s/Replica/');
  readonly #informers = new Set<Informer>();

  constructor(private readonly onViolation: (violation: Violation) => void) {}

  get checked(): number {
    return this.#truth.checked;
  }

  onCommit(commit: Commit): void {
    this.#truth.onCommit(commit);
  }

  /** Compares what each informer knows with what was committed. */
  whole(): void {
    for (const informer of this.#informers) informer.whole().forEach(this.onViolation);
  }

  /** Follows one server's cache for as long as it lives, as a watcher that is never cut and as an informer. */
  async follow(reach: Reach): Promise<void> {
    const kind = kindNamed('Replica');
    if (kind === undefined) throw new Error('there is no kind Replica');
    const truth = this.#truth.watcher(`an informer at ${reach.life.member.name}`);
    const informer = new Informer(reach, kind, truth);
    this.#informers.add(informer);
    reach.life.onEnd(() => this.#informers.delete(informer));
    await Promise.all([informer.follow(), this.#watch(reach, kind)]);
  }

  async #watch({ cache, life }: Reach, kind: KindDefinition): Promise<void> {
    const watcher = this.#truth.watcher(`a watcher at ${life.member.name}`);
    const tell = (violations: readonly Violation[]): void => violations.forEach(this.onViolation);
    while (!life.isOver) {
      const after = cache.version;
      const seen = new Map([...cache.list('Replica')].map(({ object }) => [keyOf(object), object.status]));
      tell(
        watcher.listed(
          cache.revision,
          [...cache.list('Replica')].map(({ object }) => [keyOf(object), { status: object.status }] as const),
        ),
      );
      try {
        for await (const { changes, upTo } of watchObjects(cache, kind, { after })) {
          for (const { type, object } of changes) {
            // A change of its metadata alone is one of its other key.
            if (type === 'MODIFIED' && seen.get(keyOf(object)) === object.status) continue;
            seen.set(keyOf(object), object.status);
            tell(
              watcher.delivered({
                revision: simulatedVersions.revisionOf(Number(object.metadata.resourceVersion)),
                key: keyOf(object),
                after: type === 'DELETED' ? undefined : { status: object.status },
              }),
            );
          }
          tell(watcher.reached(simulatedVersions.revisionOf(upTo)));
        }
      } catch (error) {
        if (isBerthError(error, 'StoreClosed')) return;
        watcher.gap();
        await life.env.sleep(100);
      }
    }
  }
}

const keyOf = ({ kind, metadata: { namespace, name } }: BerthObject): string =>
  statusKey(kind, namespace, name);

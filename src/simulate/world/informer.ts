import type { Random } from '../../env/random.js';
import type { KindDefinition } from '../../model/kind.js';
import type { BerthObject } from '../../model/object.js';
import { isBerthError } from '../../model/errors.js';
import { statusKey } from '../../model/records.js';
import { type SeenChanges, watchObjects } from '../../objects/object-watch.js';
import type { Violation } from '../checkers/checker.js';
import { simulatedVersions } from '../checkers/simulated-versions.js';
import type { WatchedWatcher } from '../checkers/watch-witness.js';
import type { Reach } from './server.js';

const cutChance = 0.3;
const bookmarkChance = 0.2;
const reconnectMs = 50;

/**
 * [S11] An informer as Kubernetes clients have one: it lists, keeps a map of what its watch tells, and resumes a watch that
 * was cut at the version of the last object. Its watches are cut anywhere, also in the middle of a group of changes.
 * Whenever it was told everything up to a revision, its map is what was committed by then.
 */
export class Informer {
  readonly #statuses = new Map<string, unknown>();
  readonly #random: Random;
  #version = 0;
  /** The map is that of this revision; undefined: a part of the next group of changes is in it. */
  #completeAt: number | undefined;

  constructor(
    private readonly reach: Reach,
    private readonly kind: KindDefinition,
    private readonly truth: WatchedWatcher,
  ) {
    this.#random = reach.life.env.random.stream('informer');
  }

  /** Follows one server's cache for as long as it lives. */
  async follow(): Promise<void> {
    const { life } = this.reach;
    while (!life.isOver) {
      this.#list();
      try {
        for (;;) {
          await this.#watchUntilCut();
          await life.env.sleep(reconnectMs);
        }
      } catch (error) {
        if (isBerthError(error, 'StoreClosed')) return;
        this.#completeAt = undefined;
        await life.env.sleep(reconnectMs);
      }
    }
  }

  /** Compares what it knows with what was committed. */
  whole(): readonly Violation[] {
    if (this.#completeAt === undefined || this.reach.life.isOver) return [];
    return this.truth.listed(this.#completeAt, this.#statuses);
  }

  #list(): void {
    const { cache } = this.reach;
    this.#statuses.clear();
    for (const { object } of cache.list(this.kind.kind)) this.#put(object);
    this.#version = cache.version;
    this.#completeAt = cache.revision;
  }

  async #watchUntilCut(): Promise<void> {
    const random = this.#random;
    for await (const turn of watchObjects(this.reach.cache, this.kind, { after: this.#version })) {
      const isCut = random.chance(cutChance);
      this.#hear(turn, isCut ? random.integer(turn.changes.length + 1) : turn.changes.length);
      if (isCut) return;
      this.#completeAt = simulatedVersions.revisionOf(turn.upTo);
      if (random.chance(bookmarkChance)) this.#version = turn.upTo;
    }
  }

  /** Hears so many changes of a turn. */
  #hear({ changes }: SeenChanges, count: number): void {
    for (const { type, object } of changes.slice(0, count)) {
      this.#completeAt = undefined;
      this.#version = Number(object.metadata.resourceVersion);
      if (type === 'DELETED') this.#statuses.delete(keyOf(object));
      else this.#put(object);
    }
  }

  #put(object: BerthObject): void {
    this.#statuses.set(keyOf(object), { status: object.status });
  }
}

const keyOf = ({ kind, metadata: { namespace, name } }: BerthObject): string =>
  statusKey(kind, namespace, name);

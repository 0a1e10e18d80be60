import type { OccupiedNode } from './occupants.js';
import type { Harm, Victims } from './victims.js';

/** A node where room could be made, and the least harm that it could take. */
export interface Candidate extends Pick<Harm, 'rank' | 'evictions'> {
  readonly node: OccupiedNode;
  /** Whom it would take, once somebody has looked. */
  victims?: Victims;
}

interface Bucket extends Pick<Harm, 'rank' | 'evictions'> {
  members: Candidate[];
  isInOrder: boolean;
}

// Above all numbers of members, and small enough that a tie times it is exact.
const membersMax = 2 ** 20;

/**
 * Candidates, those that promise the least harm first. Thousands promise the same few things, and only the first few are
 * ever asked for: they are kept by what they promise, and put in order only where somebody looks.
 */
export class CandidateOrder {
  readonly #buckets: Bucket[] = [];

  add(candidate: Candidate): void {
    const { rank, evictions } = candidate;
    let bucket = this.#bucketOf(candidate);
    if (bucket === undefined) {
      bucket = { rank, evictions, members: [], isInOrder: true };
      const at = this.#buckets.findIndex((one) => (rank - one.rank || evictions - one.evictions) < 0);
      this.#buckets.splice(at === -1 ? this.#buckets.length : at, 0, bucket);
    }
    bucket.members.push(candidate);
    bucket.isInOrder = bucket.members.length === 1;
  }

  /** Another candidate instead of one that is no longer true. */
  replace(candidate: Candidate, by: Candidate | undefined): void {
    const bucket = this.#bucketOf(candidate);
    const at = bucket?.members.indexOf(candidate) ?? -1;
    if (at !== -1) bucket?.members.splice(at, 1);
    if (by === undefined) return;
    const into = this.#bucketOf(by);
    if (into?.isInOrder !== true) return this.add(by);
    const before = into.members.findIndex(({ node }) => by.node.tie < node.tie);
    into.members.splice(before === -1 ? into.members.length : before, 0, by);
  }

  *inOrder(): Generator<Candidate> {
    for (const bucket of this.#buckets) {
      if (!bucket.isInOrder) inOrderOfTies(bucket);
      yield* bucket.members;
    }
  }

  #bucketOf({ rank, evictions }: Candidate): Bucket | undefined {
    for (const bucket of this.#buckets)
      if (bucket.rank === rank && bucket.evictions === evictions) return bucket;
    return undefined;
  }
}

/** As numbers, which are put in order many times faster than objects are. */
function inOrderOfTies(bucket: Bucket): void {
  const { members } = bucket;
  const keys = new Float64Array(members.length);
  for (const [at, { node }] of members.entries()) keys[at] = node.tie * membersMax + at;
  bucket.members = Array.from(keys.toSorted(), (key) => members[key % membersMax] as Candidate);
  bucket.isInOrder = true;
}

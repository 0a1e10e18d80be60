import type { Env } from '../../env/env.js';
import { wallMs } from '../../env/instant.js';
import type {
  DecisionLimits,
  DecisionPage,
  DecisionQuery,
  Decisions,
  NewDecision,
} from '../../model/decisions.js';
import { BerthError } from '../../model/errors.js';
import type { Decision } from '../../model/kinds/decision.js';
import type { Entry, Store, Write } from '../../store/contract.js';
import { keysUnder, singleKey } from '../../store/key-range.js';
import {
  continueAfter,
  decisionName,
  firstStampAt,
  positionIn,
  positionOf,
  wallMsOf,
} from './decision-name.js';
import {
  decisionObject,
  encodeDecision,
  isAskedFor,
  keyAt,
  stampOfKey,
  type Summary,
  summaryOf,
  summaryPrefix,
  wholePrefix,
  workloadPrefix,
} from './decision-record.js';

export interface DecisionLogParts {
  /** A store of its own, used by nobody else: memory in simulation, lmdb on a server, never that of the cell. */
  readonly store: Store;
  readonly env: Env;
  /** The name of this server; it stays the same as long as the store does. */
  readonly server: string;
  readonly limits: DecisionLimits;
  /** Told in one line when decisions could not be kept. */
  readonly onProblem?: (line: string) => void;
}

// Decisions wait this long for others to be flushed with them: what a crash may cost.
const gatherMs = 200;
// How many may wait to be written. Past that the store is stuck, and those that wait longest are dropped and counted.
const unwrittenMax = 2_000;
// How many are encoded, or looked at, before others get a turn.
const perTurn = 100;
const sweepEveryMs = 10_000;

interface Kept {
  readonly stamp: number;
  readonly bytes: number;
  readonly workloadKey: string;
}

/** The decisions of this server, over a store of their own. Writing is asynchronous and batched. */
export class DecisionLog implements Decisions {
  // Invariant: holds what was appended and is neither acknowledged by the store nor given up, by stamp.
  readonly #unwritten = new Map<number, NewDecision>();
  // Invariant: all that is on disk, oldest first, once #loading is over. Deleted from the front only.
  #kept: Kept[] = [];
  #bytes = 0;
  #lastStamp = 0;
  #dropped = 0;
  #writing: Promise<void> | undefined;
  readonly #stop = new AbortController();
  readonly #loading: Promise<void>;
  readonly #sweeping: Promise<void>;

  private constructor(
    private readonly parts: DecisionLogParts,
    newest: number,
  ) {
    this.#lastStamp = newest;
    this.#loading = newest === 0 ? Promise.resolve() : this.#load(newest);
    this.#sweeping = this.#sweepNowAndThen();
  }

  static async open(parts: DecisionLogParts): Promise<DecisionLog> {
    const [newest] = (await parts.store.read(keysUnder(summaryPrefix), { limit: 1 })).entries;
    return new DecisionLog(parts, newest === undefined ? 0 : stampOfKey(newest.key));
  }

  get server(): string {
    return this.parts.server;
  }

  /** How many are kept, what they take, and how many could not be kept, since the start. */
  get counters(): { readonly kept: number; readonly bytes: number; readonly dropped: number } {
    return { kept: this.#kept.length, bytes: this.#bytes, dropped: this.#dropped };
  }

  newName(): string {
    const { env, server } = this.parts;
    this.#lastStamp = Math.max(this.#lastStamp + 1, firstStampAt(wallMs(env.clock.wall())));
    return decisionName({ server, stamp: this.#lastStamp });
  }

  append(decision: NewDecision): void {
    const position = positionOf(decision.name);
    if (this.#stop.signal.aborted || position?.server !== this.parts.server) {
      this.#dropped += 1;
      return;
    }
    const [oldest] = this.#unwritten.size < unwrittenMax ? [] : this.#unwritten.keys();
    if (oldest !== undefined) {
      this.#unwritten.delete(oldest);
      this.#dropped += 1;
    }
    this.#unwritten.set(position.stamp, decision);
    this.#writing ??= this.#write().finally(() => (this.#writing = undefined));
  }

  async get(tenant: string, name: string): Promise<Decision | undefined> {
    const position = positionOf(name);
    if (position?.server !== this.parts.server) return undefined;
    const decision = this.#unwritten.get(position.stamp) ?? (await this.#read(position.stamp));
    return decision?.tenant === tenant ? decisionObject(decision) : undefined;
  }

  async list(query: DecisionQuery): Promise<DecisionPage> {
    const after = query.continue === undefined ? undefined : positionIn(query.continue);
    const { server } = this.parts;
    // Ours come after the position if they are older than it, or as old and of a server that sorts after its own.
    const from =
      after === undefined ? Number.MAX_SAFE_INTEGER : server < after.server ? after.stamp : after.stamp - 1;
    const items: Decision[] = [];
    let last = 0;
    for await (const { stamp, decision } of this.#newestFrom(query, from)) {
      if (items.length === query.limit) {
        await this.#loading;
        const isAll = [query.tenant, query.workload, query.replica, query.node, query.continue].every(
          (field) => field === undefined,
        );
        return {
          items,
          continue: continueAfter({ stamp: last, server }),
          ...(isAll && { remaining: this.#kept.length + this.#unwritten.size - items.length }),
          unanswered: [],
        };
      }
      items.push(decisionObject(decision));
      last = stamp;
    }
    return { items, unanswered: [] };
  }

  /** Writes what waits, and lets go of the store, which whoever opened it closes. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#sweeping;
    await this.#writing;
  }

  // ---- reading -------------------------------------------------------------------------------------------

  async *#newestFrom(
    query: DecisionQuery,
    from: number,
  ): AsyncGenerator<{ readonly stamp: number; readonly decision: NewDecision }> {
    const waiting = [...this.#unwritten]
      .filter(([stamp, decision]) => stamp <= from && isAskedFor(summaryOf(decision, 0), query))
      .toSorted(([a], [b]) => b - a);
    let next = 0;
    const seen = new Set(waiting.map(([stamp]) => stamp));
    for await (const stamp of this.#stampsOnDisk(query, from)) {
      // Written since we looked at what waits: told once.
      if (seen.has(stamp)) continue;
      for (; (waiting[next]?.[0] ?? 0) > stamp; next += 1) yield waitingAt(waiting, next);
      const decision = await this.#read(stamp);
      if (decision !== undefined) yield { stamp, decision };
    }
    for (; next < waiting.length; next += 1) yield waitingAt(waiting, next);
  }

  async *#stampsOnDisk(query: DecisionQuery, from: number): AsyncGenerator<number> {
    const { tenant, workload, replica, node } = query;
    const isIndexed = tenant !== undefined && workload !== undefined;
    const isByIndexAlone = isIndexed && replica === undefined && node === undefined;
    const prefix = isIndexed ? workloadPrefix(tenant, workload) : summaryPrefix;
    for await (const entry of this.#entriesFrom(prefix, from)) {
      const stamp = stampOfKey(entry.key);
      const summary = isByIndexAlone ? undefined : isIndexed ? await this.#summary(stamp) : summaryIn(entry);
      if (isByIndexAlone || (summary !== undefined && isAskedFor(summary, query))) yield stamp;
    }
  }

  async *#entriesFrom(prefix: string, stamp: number): AsyncGenerator<Entry> {
    const { store, env } = this.parts;
    let from = keyAt(prefix, stamp);
    for (;;) {
      const { entries, more } = await store.read({ from, to: keysUnder(prefix).to }, { limit: perTurn });
      yield* entries;
      const last = entries.at(-1);
      if (!more || last === undefined) return;
      from = `${last.key}\0`;
      await env.yield();
    }
  }

  async #read(stamp: number): Promise<NewDecision | undefined> {
    const [entry] = (await this.parts.store.read(singleKey(keyAt(wholePrefix, stamp)))).entries;
    return entry === undefined ? undefined : (JSON.parse(Buffer.from(entry.value).toString()) as NewDecision);
  }

  async #summary(stamp: number): Promise<Summary | undefined> {
    const [entry] = (await this.parts.store.read(singleKey(keyAt(summaryPrefix, stamp)))).entries;
    return entry === undefined ? undefined : summaryIn(entry);
  }

  // ---- writing -------------------------------------------------------------------------------------------

  async #write(): Promise<void> {
    const { env } = this.parts;
    await env.sleep(gatherMs, this.#stop.signal).catch(() => undefined);
    while (this.#unwritten.size > 0) {
      const some: [number, NewDecision][] = [];
      for (const each of this.#unwritten) if (some.push(each) === perTurn) break;
      const written = await Promise.allSettled(some.map(([stamp, decision]) => this.#put(stamp, decision)));
      const failed = written.find(({ status }) => status === 'rejected');
      for (const [stamp] of some) this.#unwritten.delete(stamp);
      if (failed?.status === 'rejected') {
        if (!(failed.reason instanceof BerthError)) throw failed.reason;
        this.#dropped += written.filter(({ status }) => status === 'rejected').length;
        this.parts.onProblem?.(`decisions could not be kept: ${failed.reason.message}`);
      }
      await env.yield();
    }
  }

  /** One transaction per decision; the store gathers those of one turn into one flush. */
  async #put(stamp: number, decision: NewDecision): Promise<void> {
    const { kept, bytes } = encodeDecision(decision);
    const summary = Buffer.from(JSON.stringify(summaryOf(kept, bytes.length)));
    const workloadKey = keyAt(workloadPrefix(kept.tenant, kept.spec.workload), stamp);
    await this.parts.store.transact({
      guards: [],
      writes: [
        { kind: 'put', key: keyAt(wholePrefix, stamp), value: bytes },
        { kind: 'put', key: keyAt(summaryPrefix, stamp), value: summary },
        { kind: 'put', key: workloadKey, value: Buffer.alloc(0) },
      ],
    });
    this.#keep({ stamp, bytes: bytes.length, workloadKey });
  }

  #keep(kept: Kept): void {
    const isLast = (this.#kept.at(-1)?.stamp ?? 0) < kept.stamp;
    if (isLast) this.#kept.push(kept);
    else this.#kept.splice(this.#kept.findLastIndex(({ stamp }) => stamp < kept.stamp) + 1, 0, kept);
    this.#bytes += kept.bytes;
  }

  // ---- retention -----------------------------------------------------------------------------------------

  /** What was there at the start, up to its newest: what is written meanwhile is newer. */
  async #load(newest: number): Promise<void> {
    const loaded: Kept[] = [];
    try {
      for await (const entry of this.#entriesFrom(summaryPrefix, newest)) {
        if (this.#stop.signal.aborted) return;
        const { tenant, workload, bytes } = summaryIn(entry);
        const stamp = stampOfKey(entry.key);
        loaded.push({ stamp, bytes, workloadKey: keyAt(workloadPrefix(tenant, workload), stamp) });
        this.#bytes += bytes;
      }
    } catch (error) {
      if (!(error instanceof BerthError)) throw error;
      this.parts.onProblem?.(`older decisions are kept until the next start: ${error.message}`);
    }
    this.#kept = [...loaded.toReversed(), ...this.#kept];
  }

  async #sweepNowAndThen(): Promise<void> {
    const { env, store } = this.parts;
    const { signal } = this.#stop;
    await this.#loading;
    for (;;) {
      await env.sleep(sweepEveryMs, signal).catch(() => undefined);
      if (signal.aborted) return;
      try {
        const hasChanged = await this.#sweep();
        // Nobody reads what was: without this every decision would be kept twice.
        if (hasChanged) await store.compact((await store.read(keysUnder('/m/'), { limit: 1 })).revision);
      } catch (error) {
        // A store that is away is told of by whoever writes to it.
        if (!(error instanceof BerthError)) throw error;
      }
    }
  }

  #sweptStamp = 0;

  /** Deletes what is too old or too much. Whether there was anything new or anything to delete since the last time. */
  async #sweep(): Promise<boolean> {
    const { env, store, limits } = this.parts;
    const newest = this.#kept.at(-1)?.stamp ?? 0;
    const hasGrown = newest !== this.#sweptStamp;
    this.#sweptStamp = newest;
    const oldestMs = wallMs(env.clock.wall()) - limits.ageMsMax;
    let count = 0;
    let bytes = this.#bytes;
    for (const kept of this.#kept) {
      if (bytes <= limits.bytesMax && wallMsOf(kept.stamp) >= oldestMs) break;
      bytes -= kept.bytes;
      count += 1;
    }
    for (let left = count; left > 0; left -= perTurn) {
      // Off the books first: what cannot be deleted now is found again by the next start.
      const some = this.#kept.splice(0, Math.min(left, perTurn));
      for (const kept of some) this.#bytes -= kept.bytes;
      await Promise.all(some.map((kept) => store.transact({ guards: [], writes: deletesOf(kept) })));
      await env.yield();
    }
    return hasGrown || count > 0;
  }
}

const deletesOf = ({ stamp, workloadKey }: Kept): Write[] =>
  [keyAt(wholePrefix, stamp), keyAt(summaryPrefix, stamp), workloadKey].map((key) => ({
    kind: 'delete',
    key,
  }));

const summaryIn = ({ value }: Entry): Summary => JSON.parse(Buffer.from(value).toString()) as Summary;

function waitingAt(
  waiting: readonly (readonly [number, NewDecision])[],
  index: number,
): { readonly stamp: number; readonly decision: NewDecision } {
  const [stamp, decision] = waiting[index] ?? [];
  if (stamp === undefined || decision === undefined) throw new Error(`nothing waits at ${index}`);
  return { stamp, decision };
}

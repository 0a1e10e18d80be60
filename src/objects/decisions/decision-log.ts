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
import {
  type Entry,
  framingBytesPerKey,
  keyBytesMax,
  type Store,
  transactionBytesMax,
  type Write,
} from '../../store/contract.js';
import { keysUnder, singleKey } from '../../store/key-range.js';
import { JsonWriter } from '../json-writer.js';
import {
  continueAfter,
  decisionName,
  firstStampAt,
  positionIn,
  positionOf,
  wallMsOf,
} from './decision-name.js';
import {
  bytesOf,
  decisionObject,
  decodeDecision,
  type EncodedDecision,
  encodeDecision,
  type Head,
  headIn,
  headPrefix,
  isAskedFor,
  keptIn,
  keyAt,
  restPrefix,
  stampOfKey,
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
// How many are written, or looked at, before others get a turn.
const perTurn = 100;
// How many share a transaction, if they are not too large together: each has three keys. One flush for all would do
// as well, but a transaction that is judged and answered costs as much as what a small decision writes.
const perTransaction = 40;
const keyBytesPerDecisionMax = 3 * (framingBytesPerKey + keyBytesMax);
const sweepEveryMs = 10_000;

interface Kept {
  readonly stamp: number;
  readonly bytes: number;
  readonly workloadKey: string;
}

/** A decision as it will be written. */
interface Unwritten extends EncodedDecision {
  readonly tenant: string;
  readonly workload: string;
}

interface Found {
  readonly stamp: number;
  readonly decision: NewDecision;
}

/** Decisions that are written together, or not at all. */
interface Group {
  readonly kept: Kept[];
  readonly writes: Write[];
  bytes: number;
}

const nothing = Buffer.alloc(0);

/** The decisions of this server, over a store of their own. Writing is asynchronous and batched. */
export class DecisionLog implements Decisions {
  // Invariant: holds what was appended and is neither acknowledged by the store nor given up, by stamp. As bytes from
  // the start: what a decision consists of has just been looked at then, and need not be kept alive until it is written.
  readonly #unwritten = new Map<number, Unwritten>();
  readonly #writer = new JsonWriter();
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
    const [newest] = (await parts.store.read(keysUnder(headPrefix), { limit: 1 })).entries;
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
    const { name: _, tenant, spec } = decision;
    const { workload } = spec;
    this.#unwritten.set(position.stamp, { tenant, workload, ...encodeDecision(decision, this.#writer) });
    this.#writing ??= this.#write().finally(() => (this.#writing = undefined));
  }

  async get(tenant: string, name: string): Promise<Decision | undefined> {
    const position = positionOf(name);
    if (position?.server !== this.parts.server) return undefined;
    const waiting = this.#unwritten.get(position.stamp);
    const decision = waiting === undefined ? await this.#read(position.stamp) : decoded(waiting);
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

  async *#newestFrom(query: DecisionQuery, from: number): AsyncGenerator<Found> {
    const waiting = [...this.#unwritten].filter(([stamp]) => stamp <= from).toSorted(([a], [b]) => b - a);
    const seen = new Set(waiting.map(([stamp]) => stamp));
    const rest = waiting.values();
    let next = rest.next();
    for await (const { stamp, head } of this.#headsOnDisk(query, from)) {
      // Written since we looked at what waits: told once.
      if (seen.has(stamp)) continue;
      for (; next.done !== true && next.value[0] > stamp; next = rest.next())
        yield* askedFor(next.value, query);
      const decision = await this.#readRest(stamp, head);
      if (decision !== undefined) yield { stamp, decision };
    }
    for (let count = 1; next.done !== true; next = rest.next(), count += 1) {
      yield* askedFor(next.value, query);
      if (count % perTurn === 0) await this.parts.env.yield();
    }
  }

  async *#headsOnDisk(
    query: DecisionQuery,
    from: number,
  ): AsyncGenerator<{ readonly stamp: number; readonly head: Head }> {
    const { tenant, workload } = query;
    const isIndexed = tenant !== undefined && workload !== undefined;
    const prefix = isIndexed ? workloadPrefix(tenant, workload) : headPrefix;
    for await (const entry of this.#entriesFrom(prefix, from)) {
      const stamp = stampOfKey(entry.key);
      const head = isIndexed ? await this.#readHead(stamp) : headIn(entry.value);
      if (head !== undefined && isAskedFor(head, query)) yield { stamp, head };
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
    const head = await this.#readHead(stamp);
    return head && this.#readRest(stamp, head);
  }

  async #readHead(stamp: number): Promise<Head | undefined> {
    const [entry] = (await this.parts.store.read(singleKey(keyAt(headPrefix, stamp)))).entries;
    return entry && headIn(entry.value);
  }

  async #readRest(stamp: number, head: Head): Promise<NewDecision | undefined> {
    const [entry] = (await this.parts.store.read(singleKey(keyAt(restPrefix, stamp)))).entries;
    return entry && decodeDecision(head, entry.value);
  }

  // ---- writing -------------------------------------------------------------------------------------------

  async #write(): Promise<void> {
    const { env } = this.parts;
    await env.sleep(gatherMs, this.#stop.signal).catch(() => undefined);
    while (this.#unwritten.size > 0) {
      const groups = this.#nextGroups();
      const written = await Promise.allSettled(groups.map((group) => this.#put(group)));
      for (const [at, { kept }] of groups.entries()) {
        for (const { stamp } of kept) this.#unwritten.delete(stamp);
        if (written[at]?.status === 'rejected') this.#dropped += kept.length;
      }
      const failed = written.find(({ status }) => status === 'rejected');
      if (failed?.status === 'rejected') {
        if (!(failed.reason instanceof BerthError)) throw failed.reason;
        this.parts.onProblem?.(`decisions could not be kept: ${failed.reason.message}`);
      }
      await env.yield();
    }
  }

  /** Those that wait longest, as many as one turn takes. */
  #nextGroups(): readonly Group[] {
    const groups: Group[] = [];
    let count = 0;
    for (const [stamp, unwritten] of this.#unwritten) {
      if ((count += 1) > perTurn) break;
      const { tenant, workload, head, rest } = unwritten;
      const bytes = bytesOf(unwritten);
      const workloadKey = keyAt(workloadPrefix(tenant, workload), stamp);
      let group = groups.at(-1);
      const isFull =
        group === undefined ||
        group.kept.length === perTransaction ||
        group.bytes + bytes + keyBytesPerDecisionMax > transactionBytesMax;
      if (group === undefined || isFull) groups.push((group = { kept: [], writes: [], bytes: 0 }));
      group.kept.push({ stamp, bytes, workloadKey });
      group.bytes += bytes + keyBytesPerDecisionMax;
      group.writes.push(
        { kind: 'put', key: keyAt(restPrefix, stamp), value: rest },
        { kind: 'put', key: keyAt(headPrefix, stamp), value: head },
        { kind: 'put', key: workloadKey, value: nothing },
      );
    }
    return groups;
  }

  /** The store gathers the transactions of one turn into one flush. */
  async #put({ kept, writes }: Group): Promise<void> {
    await this.parts.store.transact({ guards: [], writes });
    for (const one of kept) this.#keep(one);
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
      for await (const entry of this.#entriesFrom(headPrefix, newest)) {
        if (this.#stop.signal.aborted) return;
        const { tenant, workload, bytes } = keptIn(entry.value);
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
  [keyAt(restPrefix, stamp), keyAt(headPrefix, stamp), workloadKey].map((key) => ({
    kind: 'delete',
    key,
  }));

function decoded({ head, rest }: Unwritten): NewDecision | undefined {
  const known = headIn(head);
  return known && decodeDecision(known, rest);
}

function* askedFor([stamp, unwritten]: readonly [number, Unwritten], query: DecisionQuery): Generator<Found> {
  // Most are another's, which is seen without reading them.
  if (query.tenant !== undefined && unwritten.tenant !== query.tenant) return;
  if (query.workload !== undefined && unwritten.workload !== query.workload) return;
  const head = headIn(unwritten.head);
  if (head !== undefined && isAskedFor(head, query))
    yield { stamp, decision: decodeDecision(head, unwritten.rest) };
}

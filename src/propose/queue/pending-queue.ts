import { type Backoff, backoffAfter } from '../../env/backoff.js';
import { EventHeap, type HeapEvent } from '../../env/event-heap.js';
import { Fifo } from '../../env/fifo.js';
import type { Random } from '../../env/random.js';
import { type Reason, reasons as allReasons } from '../../model/reasons.js';
import type { ClassKey, PendingReplica, Turn } from '../contract.js';
import type { Band, Item, Line, Lot, LotFacts } from './lots.js';
import { MovableHeap } from './movable-heap.js';
import { TenantShares } from './tenant-shares.js';

/** A turn, and the lot it was taken from. */
export interface LotTurn extends Turn {
  readonly lot: string;
}

export interface PendingQueueOptions {
  readonly random: Random;
  readonly backoff: Backoff;
  /** A turn hands out at most so many. */
  readonly turnMax: number;
}

interface Due extends HeapEvent {
  readonly item: Item;
}

/** A woken lot is tried with so many at first, and has every so-manieth turn of its tenant while others wait. */
const probeMax = 8;
const probeEvery = 4;
/** A tenant whose turns place nothing is passed over for at most so many. */
const asideMax = 64;
/** How far above the next tenant's share a turn may bring one: small, so that weights count in small cells too. */
const shareQuantum = 0.0025;
const staleMin = 64;

/**
 * Who is next. Bands by priority; in a band the tenant with the smallest weighted share; of a tenant the lot whose
 * first replica waits longest.
 *
 * Invariants: a replica is in one state. A lot is in `lots` of its line exactly while somebody in it waits and it is
 * not parked, and under each of its reasons exactly while it is parked. A line is in `ready` or `aside` of its band
 * exactly while it has a lot that is not parked, or one that was woken.
 *
 * What cannot be placed costs others little: its lot is parked as a whole, however many replicas it has; waking
 * costs one step for each tenant, and what was woken is tried a few replicas at a time, between turns of others.
 */
export class PendingQueue {
  readonly shares = new TenantShares();
  readonly #items = new Map<string, Item>();
  readonly #lots = new Map<string, Lot>();
  readonly #linesOf = new Map<string, Set<Line>>();
  readonly #parkedLines = new Map<Reason, Set<Line>>();
  readonly #dues = new EventHeap<Due>();
  // Highest priority first.
  #bands: Band[] = [];
  // Orders parking, waking, turns and due times.
  #serial = 0;
  #backingOff = 0;

  constructor(private readonly options: PendingQueueOptions) {}

  get size(): number {
    return this.#items.size;
  }

  /** When somebody's backoff ends next; undefined: nobody backs off. */
  get nextDueMs(): number | undefined {
    return this.#dues.peek()?.atMs;
  }

  stateOf(uid: string): 'active' | 'parked' | 'backingOff' | 'out' | undefined {
    const item = this.#items.get(uid);
    if (item === undefined || item.state === 'gone') return undefined;
    if (item.state !== 'waiting') return item.state;
    return item.lot.parkedUnder === undefined ? 'active' : 'parked';
  }

  /** By band, how many there are in each state. Goes through all lots: for who looks now and then. */
  counts(): ReadonlyMap<number, Readonly<Record<'active' | 'parked' | 'elsewhere', number>>> {
    const counts = new Map<number, { active: number; parked: number; elsewhere: number }>();
    for (const { priority } of this.#bands) counts.set(priority, { active: 0, parked: 0, elsewhere: 0 });
    for (const { line, waiting, members, parkedUnder } of this.#lots.values()) {
      const count = counts.get(line.band.priority);
      if (count === undefined) continue;
      count[parkedUnder === undefined ? 'active' : 'parked'] += waiting;
      count.elsewhere += members - waiting;
    }
    return counts;
  }

  get backingOff(): number {
    return this.#backingOff;
  }

  /** Adds one that waits; one that is known already stays where it is. */
  add(replica: PendingReplica, facts: LotFacts): void {
    if (this.#items.has(replica.uid)) return;
    const lot = this.#lotOf(replica, facts);
    const item: Item = { replica, lot, state: 'waiting', failures: 0, dueMs: 0 };
    this.#items.set(replica.uid, item);
    lot.members += 1;
    this.#wait(item, 'last');
  }

  /** It does not wait any more: bound, ended or gone. */
  remove(uid: string): void {
    const item = this.#items.get(uid);
    if (item === undefined) return;
    const { lot, state } = item;
    this.#items.delete(uid);
    item.state = 'gone';
    lot.members -= 1;
    if (state === 'out') this.#assume(lot, -1);
    if (state === 'backingOff') this.#backingOff -= 1;
    if (state === 'waiting') {
      lot.waiting -= 1;
      this.#dropStale(lot);
      this.#place(lot);
    }
    if (lot.members === 0) this.#forget(lot);
  }

  /** The next turn; whoever takes it answers with `answer`, and for each replica that does not get bound. */
  take(nowMs: number): LotTurn | undefined {
    this.#wakeDue(nowMs);
    for (const band of this.#bands) {
      const line = nextLine(band);
      if (line === undefined) continue;
      const woken = wokenLot(line);
      const isWokensTurn = line.lots.size === 0 || line.sinceProbe >= probeEvery - 1;
      const lot = woken !== undefined && isWokensTurn ? woken : line.lots.peek();
      if (lot === undefined) throw new Error(`tenant ${line.tenant} is ready and nobody of it waits`);
      line.sinceProbe = lot === woken ? 0 : line.sinceProbe + 1;
      if (lot === woken) {
        this.#unpark(lot);
        lot.isProbe = true;
      }
      line.lastTurn = ++this.#serial;
      return { lot: lot.lot, classKey: lot.classKey, replicas: this.#handOut(lot) };
    }
    return undefined;
  }

  /**
   * What came of a turn: how many have a node, and who waits, for which reasons. Those reasons park the whole lot:
   * its other replicas would find no place either.
   */
  answer(turn: LotTurn, placed: number, waiting: readonly string[], reasons: readonly Reason[]): void {
    for (const uid of waiting.toReversed()) this.#return(uid);
    const lot = this.#lots.get(turn.lot);
    if (lot === undefined) return;
    const { line } = lot;
    if (placed > 0) {
      lot.isProbe = false;
      line.failures = 0;
    } else {
      line.failures += 1;
      line.asideUntil = line.band.turns + Math.min(asideMax, 2 ** Math.min(line.failures - 1, 6));
    }
    if (reasons.length > 0 && waiting.length > 0) this.park(turn.lot, reasons);
    else this.#rank(line);
  }

  /** Nobody of the lot is handed out until a change could cure one of these reasons. */
  park(lotName: string, reasons: readonly Reason[]): void {
    const lot = this.#lots.get(lotName);
    if (lot === undefined) return;
    this.#unpark(lot);
    lot.parkedUnder = reasons;
    lot.parkedAt = ++this.#serial;
    this.#place(lot);
  }

  /** Comes back at once, before the others of its lot. */
  again(uid: string): void {
    const lot = this.#return(uid);
    if (lot !== undefined) this.#place(lot);
  }

  /** Comes back after a while that is longer each time. */
  backOff(uid: string, nowMs: number): void {
    const item = this.#items.get(uid);
    if (item?.state !== 'out') return;
    item.failures += 1;
    item.dueMs = nowMs + backoffAfter(this.options.backoff, item.failures, this.options.random);
    item.state = 'backingOff';
    this.#backingOff += 1;
    this.#assume(item.lot, -1);
    this.#dues.push({ atMs: item.dueMs, tiebreak: 0, sequence: ++this.#serial, item });
  }

  /** A change could cure this reason, for all or for one tenant. Wakes exactly what is parked under it. */
  wake(reason: Reason, tenant?: string): void {
    for (const line of this.#parkedLines.get(reason) ?? []) {
      if (tenant !== undefined && line.tenant !== tenant) continue;
      line.wokenAt.set(reason, ++this.#serial);
      line.failures = 0;
      line.asideUntil = 0;
      this.#rank(line);
    }
  }

  isParkedUnder(reason: Reason): boolean {
    return (this.#parkedLines.get(reason)?.size ?? 0) > 0;
  }

  /** Wakes everything: for wake-ups that were missed. */
  sweep(): void {
    for (const reason of allReasons) this.wake(reason);
  }

  /** The shares of a tenant changed: its account, its weight. */
  reorder(tenant: string): void {
    for (const line of this.#linesOf.get(tenant) ?? []) this.#rank(line);
  }

  /** What the cell offers changed, and with it every share. */
  reorderAll(): void {
    for (const lines of this.#linesOf.values()) for (const line of lines) this.#rank(line);
  }

  /** Priorities changed: every lot goes to the band where it belongs now. */
  reprioritize(priorityOf: (classKey: ClassKey) => number): void {
    for (const lot of this.#lots.values()) {
      const before = lot.line;
      const priority = priorityOf(lot.classKey);
      if (before.band.priority === priority) continue;
      const { parkedUnder } = lot;
      this.#unpark(lot);
      before.lots.remove(lot);
      lot.line = this.#lineOf(before.tenant, priority);
      lot.line.lotCount += 1;
      lot.parkedUnder = parkedUnder;
      this.#place(lot);
      this.#leave(before);
    }
  }

  /** Those of a lot who wait, in order. */
  *waitingIn(lotName: string): Generator<PendingReplica> {
    for (const { state, replica } of this.#lots.get(lotName)?.items ?? [])
      if (state === 'waiting') yield replica;
  }

  lotOf(uid: string): string | undefined {
    return this.#items.get(uid)?.lot.lot;
  }

  #handOut(lot: Lot): PendingReplica[] {
    const most = this.#turnSize(lot);
    const replicas: PendingReplica[] = [];
    while (replicas.length < most) {
      const item = lot.items.shift();
      if (item === undefined) break;
      if (item.state !== 'waiting') continue;
      item.state = 'out';
      lot.waiting -= 1;
      replicas.push(item.replica);
    }
    this.#dropStale(lot);
    this.#assume(lot, replicas.length);
    this.#place(lot);
    return replicas;
  }

  /** Not so many that the tenant would come far above the one whose turn is next. */
  #turnSize(lot: Lot): number {
    const { line } = lot;
    const most = lot.isProbe ? probeMax : this.options.turnMax;
    line.band.ready.remove(line);
    const next = line.band.ready.peek();
    const step = this.shares.stepOf(line.tenant, lot.amount);
    if (next === undefined || step === 0) return most;
    const room = next.share + shareQuantum - line.share;
    return Math.max(1, Math.min(most, Math.floor(room / step)));
  }

  #lotOf(replica: PendingReplica, facts: LotFacts): Lot {
    const known = this.#lots.get(facts.lot);
    if (known !== undefined) return known;
    const line = this.#lineOf(replica.tenant, facts.priority);
    line.lotCount += 1;
    // Written out: there may be as many as replicas, and a spread makes each larger and slower.
    const lot: Lot = {
      lot: facts.lot,
      amount: facts.amount,
      classKey: replica.classKey,
      line,
      sequence: ++this.#serial,
      items: new Fifo<Item>(),
      waiting: 0,
      members: 0,
      parkedUnder: undefined,
      parkedAt: 0,
      isProbe: false,
    };
    this.#lots.set(facts.lot, lot);
    return lot;
  }

  #lineOf(tenant: string, priority: number): Line {
    let band = this.#bands.find((one) => one.priority === priority);
    if (band === undefined) {
      band = {
        ...{ priority, lines: new Map<string, Line>(), turns: 0 },
        ready: new MovableHeap<Line>(hasSmallerShare),
        aside: new MovableHeap<Line>((a, b) => a.asideUntil < b.asideUntil),
      };
      this.#bands = [...this.#bands, band].toSorted((a, b) => b.priority - a.priority);
    }
    let line = band.lines.get(tenant);
    if (line === undefined) {
      line = {
        ...{ tenant, band, lots: new MovableHeap<Lot>(waitsLonger), parked: new Map(), wokenAt: new Map() },
        ...{ share: 0, lastTurn: 0, failures: 0, asideUntil: 0, sinceProbe: 0, lotCount: 0 },
      };
      band.lines.set(tenant, line);
      const lines = this.#linesOf.get(tenant);
      if (lines === undefined) this.#linesOf.set(tenant, new Set([line]));
      else lines.add(line);
    }
    return line;
  }

  /** The last of a lot is gone; with the last lot its line goes, and with that its band. */
  #forget(lot: Lot): void {
    const { line } = lot;
    this.#unpark(lot);
    line.lots.remove(lot);
    this.#lots.delete(lot.lot);
    this.#leave(line);
  }

  /** A lot has left a line. */
  #leave(line: Line): void {
    const { band, tenant } = line;
    line.lotCount -= 1;
    this.#rank(line);
    if (line.lotCount > 0) return;
    band.lines.delete(tenant);
    const lines = this.#linesOf.get(tenant);
    lines?.delete(line);
    if (lines?.size === 0) this.#linesOf.delete(tenant);
    if (band.lines.size === 0) this.#bands = this.#bands.filter((one) => one !== band);
  }

  #wait(item: Item, where: 'first' | 'last'): void {
    item.state = 'waiting';
    item.lot.waiting += 1;
    if (where === 'first') item.lot.items.unshift(item);
    else item.lot.items.push(item);
    this.#place(item.lot);
  }

  #return(uid: string): Lot | undefined {
    const item = this.#items.get(uid);
    if (item?.state !== 'out') return undefined;
    this.#assume(item.lot, -1);
    this.#wait(item, 'first');
    return item.lot;
  }

  #wakeDue(nowMs: number): void {
    for (let due = this.#dues.peek(); due !== undefined && due.atMs <= nowMs; due = this.#dues.peek()) {
      this.#dues.pop();
      if (due.item.state !== 'backingOff') continue;
      this.#backingOff -= 1;
      this.#wait(due.item, 'last');
    }
  }

  /** Puts a lot where it belongs now, and its line. */
  #place(lot: Lot): void {
    const { line } = lot;
    // Where nobody waits nothing is parked: whoever comes next is tried.
    if (lot.waiting === 0) this.#unpark(lot);
    if (lot.waiting === 0 || lot.parkedUnder !== undefined) line.lots.remove(lot);
    else line.lots.put(lot);
    for (const reason of lot.parkedUnder ?? []) this.#putUnder(line, reason, lot);
    this.#rank(line);
  }

  #unpark(lot: Lot): void {
    for (const reason of lot.parkedUnder ?? []) this.#takeFrom(lot.line, reason, lot);
    lot.parkedUnder = undefined;
  }

  #putUnder(line: Line, reason: Reason, lot: Lot): void {
    let parked = line.parked.get(reason);
    if (parked === undefined) {
      parked = new MovableHeap<Lot>((a, b) => a.parkedAt < b.parkedAt);
      line.parked.set(reason, parked);
      const lines = this.#parkedLines.get(reason);
      if (lines === undefined) this.#parkedLines.set(reason, new Set([line]));
      else lines.add(line);
    }
    parked.put(lot);
  }

  #takeFrom(line: Line, reason: Reason, lot: Lot): void {
    const parked = line.parked.get(reason);
    parked?.remove(lot);
    if (parked === undefined || parked.size > 0) return;
    line.parked.delete(reason);
    this.#parkedLines.get(reason)?.delete(line);
  }

  /** Puts a line where it belongs now: ready, passed over for a while, or neither. */
  #rank(line: Line): void {
    const { band } = line;
    const isReady = line.lots.size > 0 || wokenLot(line) !== undefined;
    const isAside = isReady && line.asideUntil > band.turns;
    line.share = this.shares.of(line.tenant);
    if (isReady && !isAside) band.ready.put(line);
    else band.ready.remove(line);
    if (isAside) band.aside.put(line);
    else band.aside.remove(line);
  }

  #assume(lot: Lot, count: number): void {
    this.shares.assume(lot.line.tenant, lot.amount, count);
    this.reorder(lot.line.tenant);
  }

  /** Those that are gone are passed over when their turn comes; where they are many they are dropped at once. */
  #dropStale({ items, waiting }: Lot): void {
    while (items.size > 0 && items.peek()?.state !== 'waiting') items.shift();
    if (items.size < staleMin || items.size < 2 * waiting) return;
    const kept = [...items].filter(({ state }) => state === 'waiting');
    while (items.size > 0) items.shift();
    for (const item of kept) items.push(item);
  }
}

const hasSmallerShare = (a: Line, b: Line): boolean =>
  a.share === b.share ? a.lastTurn < b.lastTurn : a.share < b.share;

function waitsLonger(a: Lot, b: Lot): boolean {
  const sinceA = a.items.peek()?.replica.sinceMs ?? 0;
  const sinceB = b.items.peek()?.replica.sinceMs ?? 0;
  return sinceA === sinceB ? a.sequence < b.sequence : sinceA < sinceB;
}

/** The lot of a line that was parked longest of those that a change could have cured since. */
function wokenLot(line: Line): Lot | undefined {
  let first: Lot | undefined;
  for (const [reason, parked] of line.parked) {
    const lot = parked.peek();
    if (lot === undefined || lot.parkedAt > (line.wokenAt.get(reason) ?? 0)) continue;
    if (first === undefined || lot.parkedAt < first.parkedAt) first = lot;
  }
  return first;
}

/** The line of a band whose turn it is. Those passed over come when it is time, or when nobody else is there. */
function nextLine(band: Band): Line | undefined {
  const { ready, aside } = band;
  for (let line = aside.peek(); line !== undefined; line = aside.peek()) {
    if (line.asideUntil > band.turns && ready.size > 0) break;
    aside.remove(line);
    line.asideUntil = 0;
    ready.put(line);
  }
  const line = ready.peek();
  if (line !== undefined) band.turns += 1;
  return line;
}

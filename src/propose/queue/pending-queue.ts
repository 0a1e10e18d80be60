import { type Backoff, backoffAfter } from '../../env/backoff.js';
import { EventHeap, type HeapEvent } from '../../env/event-heap.js';
import { Fifo } from '../../env/fifo.js';
import type { Random } from '../../env/random.js';
import type { ClassKey, PendingReplica, Turn } from '../contract.js';
import { type ParkReason, parkReasons } from './cures.js';
import type { Band, Item, Line, Lot, LotFacts, Parked } from './lots.js';
import { MovableHeap } from './movable-heap.js';
import { isParkedLonger, ParkedLots, wakeAt, type WakeScope } from './parked-lots.js';
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
  /** One comes back to its lot after a backoff. */
  readonly onReturn: (lot: string, replica: PendingReplica) => void;
}

interface Due extends HeapEvent {
  readonly item: Item;
}

/** A woken lot is tried with so many at first, and has every so-manieth turn of its tenant while others wait. */
const probeMax = 8;
const probeEvery = 4;
/** After so many probes in a row that placed nothing a lower band has a turn. */
const vainMax = 4;
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
 * Invariant: while a band has a lot that is not parked nobody of a lower one has a turn. One whose lots were all merely
 * woken goes before lower ones as long as that places something; after `vainMax` turns in a row that place nothing the
 * lower bands have a turn, of a few replicas: the highest with a lot that is not parked, or else the one that has not
 * had a turn for longest. So what only fails takes at most four of five turns from whoever else waits.
 *
 * What cannot be placed costs others little: its lot is parked as a whole, however many replicas it has; waking
 * costs one step for each tenant and size, and only where there may be room for that; what was woken is tried a few
 * replicas at a time, between turns of others.
 */
export class PendingQueue {
  readonly shares = new TenantShares();
  readonly #items = new Map<string, Item>();
  readonly #lots = new Map<string, Lot>();
  readonly #linesOf = new Map<string, Set<Line>>();
  readonly #parked = new ParkedLots((tenant) => this.shares.isGuaranteed(tenant));
  readonly #dues = new EventHeap<Due>();
  // Lines whose share may be another one: ranked when a turn is taken, for every bind changes one.
  readonly #unranked = new Set<Line>();
  // Highest priority first.
  #bands: Band[] = [];
  // Orders parking, waking, turns and due times.
  #serial = 0;
  #backingOff = 0;
  // Turns in a row of woken lots that placed nothing.
  #vain = 0;

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
    return item.lot.parkedIn === undefined ? 'active' : 'parked';
  }

  /** By band, how many there are in each state. Goes through all lots: for who looks now and then. */
  counts(): ReadonlyMap<number, Readonly<Record<'active' | 'parked' | 'elsewhere', number>>> {
    const counts = new Map<number, { active: number; parked: number; elsewhere: number }>();
    for (const { priority } of this.#bands) counts.set(priority, { active: 0, parked: 0, elsewhere: 0 });
    for (const { line, waiting, members, parkedIn } of this.#lots.values()) {
      const count = counts.get(line.band.priority);
      if (count === undefined) continue;
      count[parkedIn === undefined ? 'active' : 'parked'] += waiting;
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
    for (const line of this.#unranked) this.#rank(line);
    this.#unranked.clear();
    const band = this.#nextBand();
    const line = band && nextLine(band);
    if (band === undefined || line === undefined) return undefined;
    const woken = wokenLot(line);
    const isWokensTurn = line.lots.size === 0 || line.sinceProbe >= probeEvery - 1;
    const lot = woken !== undefined && isWokensTurn ? woken : line.lots.peek();
    if (lot === undefined) throw new Error(`tenant ${line.tenant} is ready and nobody of it waits`);
    line.sinceProbe = lot === woken ? 0 : line.sinceProbe + 1;
    if (lot === woken) {
      this.#parked.remove(lot);
      lot.isProbe = true;
    }
    line.lastTurn = band.lastTurn = ++this.#serial;
    return { lot: lot.lot, classKey: lot.classKey, replicas: this.#handOut(lot) };
  }

  /**
   * What came of a turn: how many have a node, and who waits, for which reasons. Those reasons park the whole lot:
   * its other replicas would find no place either.
   */
  answer(turn: LotTurn, placed: number, waiting: readonly string[], reasons: readonly ParkReason[]): void {
    for (const uid of waiting.toReversed()) this.#return(uid);
    const lot = this.#lots.get(turn.lot);
    if (lot === undefined) return;
    const { line } = lot;
    if (placed > 0) {
      lot.isProbe = false;
      line.failures = 0;
      this.#vain = 0;
    } else {
      if (lot.isProbe) this.#vain += 1;
      line.failures += 1;
      line.asideUntil = line.band.turns + Math.min(asideMax, 2 ** Math.min(line.failures - 1, 6));
    }
    if (reasons.length > 0 && waiting.length > 0) this.park(turn.lot, reasons);
    else this.#rank(line);
  }

  /** Nobody of the lot is handed out until a change could cure one of these reasons. */
  park(lotName: string, reasons: readonly ParkReason[]): void {
    const lot = this.#lots.get(lotName);
    if (lot === undefined) return;
    this.#parked.remove(lot);
    lot.parkedAt = ++this.#serial;
    this.#parked.put(lot, reasons);
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

  /**
   * A change could cure this reason. Wakes exactly what is parked under it and in the scope. Each tenant may try at
   * once, but one that has failed again and again is passed over for as long as before if it fails once more: only
   * what is for it alone gives it a new start.
   */
  wake(reason: ParkReason, scope: WakeScope = {}): void {
    for (const parked of this.#parked.within(reason, scope)) {
      const { line } = parked;
      const isRanked = line.woken.size > 0 && line.asideUntil === 0;
      wakeAt(parked, ++this.#serial);
      line.asideUntil = 0;
      if (scope.tenant !== undefined) line.failures = 0;
      if (!isRanked) this.#rank(line);
    }
  }

  isParkedUnder(reason: ParkReason): boolean {
    return this.#parked.hasUnder(reason);
  }

  /** Wakes everything: for wake-ups that were missed. */
  sweep(): void {
    for (const reason of parkReasons) this.wake(reason);
  }

  /** The shares of a tenant changed: its account, its weight. */
  reorder(tenant: string): void {
    for (const line of this.#linesOf.get(tenant) ?? []) this.#unranked.add(line);
  }

  /** What the cell offers changed, and with it every share. */
  reorderAll(): void {
    for (const lines of this.#linesOf.values()) for (const line of lines) this.#unranked.add(line);
  }

  /** Priorities changed: every lot goes to the band where it belongs now. */
  reprioritize(priorityOf: (classKey: ClassKey) => number): void {
    for (const lot of this.#lots.values()) {
      const before = lot.line;
      const priority = priorityOf(lot.classKey);
      if (before.band.priority === priority) continue;
      const { parkedIn } = lot;
      const wokenAt = Math.max(0, ...(parkedIn ?? []).map((parked) => parked.wokenAt));
      this.#parked.remove(lot);
      before.lots.remove(lot);
      lot.line = this.#lineOf(before.tenant, priority);
      lot.line.lotCount += 1;
      if (parkedIn !== undefined) this.#parked.put(lot, new Set(parkedIn.map(({ reason }) => reason)));
      // A wake is not lost on the way. Others that are parked there may be woken with it.
      for (const parked of lot.parkedIn ?? []) wakeAt(parked, Math.max(wokenAt, parked.wokenAt));
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

  /** The highest with somebody to hand out; a lower one if all that this one tries is in vain. */
  #nextBand(): Band | undefined {
    let first: Band | undefined;
    let other: Band | undefined;
    for (const band of this.#bands) {
      if (!isReady(band)) continue;
      if (first === undefined) {
        if (band.active > 0 || this.#vain < vainMax) return band;
        first = band;
      } else if (band.active > 0) {
        other = band;
        break;
      } else if (other === undefined || band.lastTurn < other.lastTurn) other = band;
    }
    if (other !== undefined) this.#vain = 0;
    return other ?? first;
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
    const isBeforeHigher = this.#bands.some((one) => one.priority > line.band.priority && isReady(one));
    const most = lot.isProbe || isBeforeHigher ? probeMax : this.options.turnMax;
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
      ask: undefined,
      parkedIn: undefined,
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
        priority,
        lines: new Map<string, Line>(),
        ready: new MovableHeap<Line>(hasSmallerShare),
        aside: new MovableHeap<Line>((a, b) => a.asideUntil < b.asideUntil),
        turns: 0,
        active: 0,
        lastTurn: 0,
      };
      this.#bands = [...this.#bands, band].toSorted((a, b) => b.priority - a.priority);
    }
    let line = band.lines.get(tenant);
    if (line === undefined) {
      line = {
        tenant,
        band,
        lots: new MovableHeap<Lot>(waitsLonger),
        parked: new Map<string, Parked>(),
        woken: new MovableHeap<Parked>(isParkedLonger),
        share: 0,
        lastTurn: 0,
        failures: 0,
        asideUntil: 0,
        sinceProbe: 0,
        lotCount: 0,
        isActive: false,
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
    this.#parked.remove(lot);
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
    const { lot } = item;
    item.state = 'waiting';
    lot.waiting += 1;
    if (where === 'first') lot.items.unshift(item);
    else lot.items.push(item);
    // Behind others that wait it changes nothing of where the lot stands: that goes by its first.
    if (where === 'first' || lot.waiting === 1) this.#place(lot);
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
      this.options.onReturn(due.item.lot.lot, due.item.replica);
    }
  }

  /** Puts a lot where it belongs now, and its line. */
  #place(lot: Lot): void {
    const { line } = lot;
    // Where nobody waits nothing is parked: whoever comes next is tried.
    if (lot.waiting === 0) this.#parked.remove(lot);
    if (lot.waiting === 0 || lot.parkedIn !== undefined) line.lots.remove(lot);
    else line.lots.put(lot);
    this.#rank(line);
  }

  /** Puts a line where it belongs now: ready, passed over for a while, or neither. */
  #rank(line: Line): void {
    const { band } = line;
    const isActive = line.lots.size > 0;
    if (isActive !== line.isActive) band.active += isActive ? 1 : -1;
    line.isActive = isActive;
    const hasSome = isActive || line.woken.size > 0;
    const isAside = hasSome && line.asideUntil > band.turns;
    line.share = this.shares.of(line.tenant);
    if (hasSome && !isAside) band.ready.put(line);
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
const wokenLot = ({ woken }: Line): Lot | undefined => woken.peek()?.lots.peek();

const isReady = ({ ready, aside }: Band): boolean => ready.size + aside.size > 0;

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

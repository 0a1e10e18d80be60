import type { Fifo } from '../../env/fifo.js';
import type { Amount } from '../../model/amount.js';

import type { ClassKey, PendingReplica } from '../contract.js';
import type { ParkReason } from './cures.js';
import type { MovableHeap } from './movable-heap.js';

/** What the queue is made of: replicas in lots, lots in the line of a tenant, lines in bands. */

/** What replicas have in common that are alike to the scheduler: what one of them finds no place for, none does. */
export interface LotFacts {
  /** Names it. A class is one lot, but for replicas that may go to one node only. */
  readonly lot: string;
  readonly priority: number;
  /** What one of them asks for. */
  readonly amount: Amount;
}

export interface Item {
  readonly replica: PendingReplica;
  readonly lot: Lot;
  /** Waiting: in the list of its lot. Out: with whoever took it. Gone: passed over where it still stands in a list. */
  state: 'waiting' | 'out' | 'backingOff' | 'gone';
  failures: number;
  dueMs: number;
}

export interface Lot extends Omit<LotFacts, 'priority'> {
  readonly classKey: ClassKey;
  line: Line;
  readonly sequence: number;
  readonly items: Fifo<Item>;
  /** How many of the list wait, and how many replicas it has in any state. */
  waiting: number;
  members: number;
  /** The name of what one of them asks for, once it has been parked. */
  ask: string | undefined;
  /** With whom it is parked, for each of its reasons; undefined: it is not. */
  parkedIn: readonly Parked[] | undefined;
  parkedAt: number;
  /** Woken, and has placed nothing since: it is tried with a few. */
  isProbe: boolean;
}

/** What a tenant has in a band. */
export interface Line {
  readonly tenant: string;
  readonly band: Band;
  /** Lots that are not parked and have somebody waiting, the one whose first has waited longest first. */
  readonly lots: MovableHeap<Lot>;
  /** Lots that are parked, by reason and, where room is short, by what they ask for. */
  readonly parked: Map<string, Parked>;
  /** Those of `parked` with a lot that was woken, the one whose first is parked longest first. */
  readonly woken: MovableHeap<Parked>;
  share: number;
  /** When it last had a turn, so that tenants with equal shares take turns. */
  lastTurn: number;
  /** Turns in a row that placed nothing, and until which turn of the band it is passed over for them. */
  failures: number;
  asideUntil: number;
  /** Turns of lots that were not woken since one that was. */
  sinceProbe: number;
  lotCount: number;
  isActive: boolean;
}

/** Lots of a line that are parked for one reason and woken together. */
export interface Parked {
  readonly name: string;
  readonly reason: ParkReason;
  readonly line: Line;
  /** Where room is short: the least that one of them asks for. */
  readonly least: Amount | undefined;
  /** The one parked longest first. Never empty while it is known to its line. */
  readonly lots: MovableHeap<Lot>;
  /** When a change last came that could cure the reason. A lot parked before that is woken. */
  wokenAt: number;
}

export interface Band {
  readonly priority: number;
  readonly lines: Map<string, Line>;
  readonly ready: MovableHeap<Line>;
  readonly aside: MovableHeap<Line>;
  turns: number;
  /** How many of its lines have a lot that is not parked. */
  active: number;
  /** When it last had a turn. */
  lastTurn: number;
}

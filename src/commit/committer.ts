import type { Env } from '../env/env.js';
import type { Outcome } from '../model/ports.js';
import { BerthError, isBerthError } from '../model/errors.js';
import type { Codec } from '../objects/codec.js';
import type { ObjectCache } from '../objects/object-cache.js';
import {
  type Guard,
  guardsMax,
  type Store,
  type TransactOutcome,
  type Write,
  writesMax,
} from '../store/contract.js';
import { type Asker, ManyAnswers, OneAnswer } from './answers.js';
import { type Ahead, CommitView } from './commit-view.js';
import type { Decide, Decision } from './decision.js';
import { BatchDraft, deferred, MemberDraft } from './draft.js';
import { MemberQueue } from './member-queue.js';

interface Member {
  readonly decide: Decide<unknown>;
  /** What it shares with others of the same lane (the accounts of a tenant): where one must wait, they all must. */
  readonly lane: string | undefined;
  readonly asker: Asker;
  /** Which of the asker's it is. */
  readonly index: number;
  /** How often a change by somebody else voided it. */
  attempts: number;
  /** With others it was too large for one transaction. */
  isAlone: boolean;
}

interface Decided {
  readonly member: Member;
  readonly decision: Decision<unknown>;
  /** How many of the keys that the batch relies on had been named when it was decided: its own are the last of them. */
  readonly readsUpTo: number;
}

/** A batch that has been formed: no more of its drafts is kept while the transaction is under way. */
interface Formed {
  readonly decided: Decided[];
  /** The keys that its members rely on, member by member. */
  readonly reads: string[];
}

export interface CommitterOptions {
  readonly env: Pick<Env, 'yield'>;
  readonly store: Store;
  readonly cache: ObjectCache;
  readonly codec: Codec;
  /** How many transactions may be under way at once. */
  readonly transactionsMax?: number;
  /**
   * Whether a transaction may build on another that is still under way. Good where the store takes them in the
   * order they are sent (lmdb, memory); elsewhere every turn of the order would void what was built.
   */
  readonly mayChain?: boolean;
  /** How many operations may wait. */
  readonly queueMax?: number;
  /** Told of each transaction: how many operations shared it and what became of it. */
  readonly onTransaction?: (members: number, outcome: TransactOutcome['kind'] | 'Refused') => void;
}

// An operation that others' changes have voided this often is Rejected(Contended): its caller backs off.
const attemptsMax = 16;
const membersMax = 128;
// A store that takes them in order flushes all that are under way at once: the more, the fewer flushes. Elsewhere
// each has a round trip of its own, and what waits for one of them waits longer; etcd takes those that arrive together
// through its log together.
const transactionsMaxChained = 32;
const transactionsMaxApart = 16;
// Some 400 binds, which take some ten milliseconds: then whoever else waits in this process has a turn.
const transactionsPerTurn = 10;
// So many are passed over in search of one that need not wait; then the next transaction to end brings another look.
const passedOverMax = 2_048;
// Past this many waiting operations new ones are refused at once (Contended), so that callers back off.
const queueMaxDefault = 100_000;

/**
 * Turns operations into transactions. Operations that wait together share one, each decided on top of those
 * before it: a member that is rejected leaves the others alone. When a guard fails, the view learns what is there
 * instead and the members are decided again. Rejections are guarded like commits, so that every answer was true at
 * a revision and not merely in a cache.
 *
 * The hot path of the whole cell, and why it is shaped so: a bind names some fifteen keys, most of them in maps of
 * hundreds of thousands, so each key is looked up once a transaction and what was found is handed on; a record that
 * changed is encoded once a transaction, however many members changed it; and what is kept while a transaction is under
 * way is only what its answer needs, since whatever outlives a few thousand binds is copied by the collector.
 */
export class Committer {
  readonly #view: CommitView;
  readonly #transactionsMax: number;
  readonly #mayChain: boolean;
  readonly #queue = new MemberQueue<Member>();
  // Wait for a transaction under way to end before they can be decided.
  #deferred: Member[] = [];
  #underWay = 0;
  #batches = 0;
  // A guard failed: what is under way may have been built on it, so nothing new is sent before it has ended.
  #isDraining = false;
  #isScheduled = false;

  constructor(private readonly options: CommitterOptions) {
    this.#view = new CommitView(options.cache, options.codec);
    this.#mayChain = options.mayChain ?? true;
    this.#transactionsMax =
      options.transactionsMax ?? (this.#mayChain ? transactionsMaxChained : transactionsMaxApart);
  }

  /** Rejects with a BerthError if the store refused the transaction for certain; nothing was changed then. */
  submit<T>(decide: Decide<T>, lane?: string): Promise<Outcome<T>> {
    return new Promise((resolve, reject) => {
      this.#enqueue(decide, lane, new OneAnswer(resolve, reject), 0);
    });
  }

  /** Operations that are sent together, decided in the order given; each is answered in its place. */
  submitAll<T>(
    order: readonly number[],
    decideOf: (index: number) => Decide<T>,
    laneOf: (index: number) => string,
  ): Promise<readonly Outcome<T>[]> {
    return new Promise((resolve, reject) => {
      const asker = new ManyAnswers<T>(order.length, resolve, reject);
      for (const index of order) this.#enqueue(decideOf(index), laneOf(index), asker, index);
    });
  }

  #enqueue(decide: Decide<unknown>, lane: string | undefined, asker: Asker, index: number): void {
    const most = this.options.queueMax ?? queueMaxDefault;
    if (this.#queue.length >= most) {
      asker.settle(index, this.#contended(`${most} operations wait`));
      return;
    }
    this.#queue.push({ decide, lane, asker, index, attempts: 0, isAlone: false });
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // After the current turn, so that operations submitted together share a transaction.
    queueMicrotask(() => this.#sendSome());
  }

  #sendSome(): void {
    this.#isScheduled = false;
    let isWorthWhile = true;
    let sent = 0;
    while (
      isWorthWhile &&
      this.#queue.length > 0 &&
      this.#underWay < this.#transactionsMax &&
      !this.#isDraining
    ) {
      if (sent >= transactionsPerTurn) {
        this.#isScheduled = true;
        void this.options.env.yield().then(() => this.#sendSome());
        return;
      }
      isWorthWhile = this.#sendBatch();
      sent += 1;
    }
  }

  /** Whether it is worth while to form another. */
  #sendBatch(): boolean {
    const draft = new BatchDraft(this.#view, this.#mayChain);
    const own = new MemberDraft(draft);
    const formed: Formed = { decided: [], reads: [] };
    const { decided } = formed;
    const first = this.#queue.first;
    if (first === undefined) return false;
    const waitingLanes = new Set<string>();
    let passedOver = 0;
    // Those that were voided before stay among themselves: they may be voided again, and with them the others.
    for (let member = this.#queue.first; member !== undefined; member = this.#queue.first) {
      if (decided.length >= membersMax || member.attempts !== first.attempts) break;
      if (decided.length > 0 && (member.isAlone || first.isAlone)) break;
      const mustWait = member.lane !== undefined && waitingLanes.has(member.lane);
      const one = mustWait ? 'waits' : this.#decide(member, draft, own.begin(), formed);
      if (one === 'full') break;
      this.#queue.takeFirst();
      if (one !== 'waits') continue;
      this.#deferred.push(member);
      if (member.lane !== undefined) waitingLanes.add(member.lane);
      passedOver += 1;
      if (passedOver >= passedOverMax) break;
    }
    if (decided.length > 0) void this.#transact(draft, formed);
    return decided.length > 0 || passedOver < passedOverMax;
  }

  #decide(
    member: Member,
    draft: BatchDraft,
    own: MemberDraft,
    { decided, reads }: Formed,
  ): 'decided' | 'full' | 'waits' | 'answered' {
    try {
      const decision = member.decide(own);
      if (draft.take(own, decision.kind === 'commit', guardsMax, writesMax)) {
        for (const { key } of own.reads) reads.push(key);
        decided.push({ member, decision, readsUpTo: reads.length });
        return 'decided';
      }
      if (draft.guards + draft.writes > 0) return 'full';
      throw new BerthError(
        'InvalidTransaction',
        `the operation relies on ${own.reads.length} keys and writes ${own.written.length}; at most ${guardsMax} and ${writesMax} are allowed`,
      );
    } catch (error) {
      if (error === deferred && this.#underWay > 0) return 'waits';
      if (error === deferred && draft.writes > 0) return 'full';
      if (error === deferred)
        member.asker.settle(
          member.index,
          this.#contended('what it relies on was only just written; the cache does not show it yet'),
        );
      else member.asker.fail(member.index, error);
      return 'answered';
    }
  }

  async #transact(draft: BatchDraft, formed: Formed): Promise<void> {
    const { decided } = formed;
    const batch = (this.#batches += 1);
    const guards: Guard[] = [];
    const writes: Write[] = [];
    const written: Ahead[] = [];
    for (const [key, touched] of draft.touched) {
      if (touched.isGuarded) guards.push(this.#view.guardOf(key, touched.seen));
      if (!touched.isWritten) continue;
      const bytes = touched.value === undefined ? undefined : this.options.codec.encode(touched.value);
      writes.push(bytes === undefined ? { kind: 'delete', key } : { kind: 'put', key, value: bytes });
      written.push(this.#view.sent(batch, key, touched.value, bytes, touched.seen));
    }
    this.#underWay += 1;
    try {
      const outcome = await this.options.store.transact({ guards, writes });
      this.options.onTransaction?.(decided.length, outcome.kind);
      this.#settle(written, formed, outcome);
    } catch (error) {
      this.options.onTransaction?.(decided.length, 'Refused');
      this.#view.forgotten(written);
      // Together they were too large for the store; each alone may not be.
      if (isBerthError(error, 'InvalidTransaction') && decided.length > 1) {
        for (const { member } of decided) member.isAlone = true;
        this.#again(decided);
      } else for (const { member } of decided) member.asker.fail(member.index, error);
    } finally {
      this.#underWay -= 1;
      if (this.#underWay === 0) this.#isDraining = false;
      if (this.#deferred.length > 0) {
        this.#queue.putFirst(this.#deferred);
        this.#deferred = [];
      }
      this.#schedule();
    }
  }

  #settle(written: readonly Ahead[], { decided, reads }: Formed, outcome: TransactOutcome): void {
    switch (outcome.kind) {
      case 'Committed': {
        this.#view.committed(written, outcome.revision);
        const revision = String(this.options.cache.versions.ofObject(outcome.revision));
        for (const { member, decision } of decided)
          member.asker.settle(member.index, outcomeOf(decision, revision));
        return;
      }
      case 'UnknownOutcome':
        this.#view.forgotten(written);
        for (const { member } of decided)
          member.asker.settle(member.index, {
            kind: 'UnknownOutcome',
            message: `the store did not answer: ${outcome.cause.message}`,
          });
        return;
      case 'GuardFailed': {
        this.#view.forgotten(written);
        const failed = new Set<string>();
        for (const { guard, current } of outcome.failed) {
          failed.add(guard.key);
          this.#view.learned(guard.key, current, outcome.revision);
        }
        this.#isDraining = true;
        let from = 0;
        for (const { member, readsUpTo } of decided) {
          if (reads.slice(from, readsUpTo).some((key) => failed.has(key))) member.attempts += 1;
          from = readsUpTo;
        }
        this.#again(decided);
      }
    }
  }

  /** Back to the head of the queue. Those voided too often have their answer. */
  #again(decided: readonly Decided[]): void {
    const kept: Member[] = [];
    for (const { member } of decided) {
      if (member.attempts <= attemptsMax) kept.push(member);
      else
        member.asker.settle(
          member.index,
          this.#contended(`voided ${attemptsMax} times by changes of others`),
        );
    }
    this.#queue.putFirst(kept.toSorted((a, b) => a.attempts - b.attempts));
  }

  #contended(why: string): Outcome<never> {
    return { kind: 'Rejected', reason: 'Contended', message: why, revision: this.#view.version };
  }
}

function outcomeOf(decision: Decision<unknown>, revision: string): Outcome<unknown> {
  switch (decision.kind) {
    case 'commit':
      return { kind: 'Committed', result: decision.result(revision), revision };
    case 'already':
      return { kind: 'AlreadyCommitted', result: decision.result, revision };
    case 'reject':
      return { kind: 'Rejected', reason: decision.reason, message: decision.message, revision };
  }
}

import type { Env, Timer } from '../../env/env.js';
import type { Node } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import type {
  NodeBinding,
  NodeEars,
  NodeHears,
  NodeHello,
  NodeLine,
  NodeSays,
  NodeStreams,
  StreamReport,
} from '../../model/node-stream.js';
import { ObjectIndex } from '../../model/object-index.js';
import type { Authority, ObjectChange, Objects, Outcome, Register, Registered } from '../../model/ports.js';
import { isOlderEpoch, nodeLeaseName, shownEpoch } from '../../model/records.js';
import type { SessionRequest } from '../../model/sessions.js';
import { type KnownUsage, usageItemsMax, type UsagePage } from '../../model/usage.js';
import { bindingOf, markOf, nodeOfReplica, unasked } from './binding-of.js';
import { NodeUsage } from './node-usage.js';
import { renewPeriodSeconds } from './renew-period.js';
import { Withdrawals } from './withdrawals.js';

export interface NodeHubParts {
  readonly objects: Objects;
  readonly authority: Pick<Authority, 'register' | 'renew' | 'report'>;
  readonly env: Env;
  /** How many nodes the cell has. */
  readonly nodes: () => number;
}

export interface HubCounters {
  /** Streams that are open now; the others only grow. */
  readonly lines: number;
  readonly renewals: number;
  readonly reports: number;
  readonly stale: number;
  /** Replicas that were asked to stop although clients may still have been sent to them: the wait was over. */
  readonly stoppedWhileListed: number;
}

interface Line extends NodeHello {
  readonly ears: NodeEars;
  /** What the node was last told of each replica, by uid. */
  readonly told: Map<string, Told>;
  /** How many of those it was told are of each revision: while there is one, it has the template. */
  readonly revisions: Map<string, number>;
  readonly usage: NodeUsage;
  reportsUnderWay: number;
  /** The id of the renewal that waits or is under way. */
  renewal: number | undefined;
  /** Opened: it has a committed renewal, and may know what is bound to its node. */
  isOpen: boolean;
  /** Its first renewal is committed, and the cache is waited for. */
  isOpening: boolean;
  /** What it was told is not all: the whole set follows when there is room. */
  isBehind: boolean;
  /** The whole set is on its way: what of it is not told yet, as it will be then, by uid. */
  rest: Map<string, Replica> | undefined;
}

interface Told {
  readonly mark: string;
  /** Undefined: it came without a template, and so shows none to others. */
  readonly revision: string | undefined;
}

// Renewals wait this long for others, so that those of many nodes share transactions.
const gatherMs = 50;
// How soon it is looked again whether the cache has come as far as the renewal that opened a line.
const catchUpMs = 20;
// A node that says more than this without waiting for answers is cut off.
const reportsUnderWayMax = 64;
// So many bindings, and one template, are told at once: no line is longer than a template and what goes with it.
const bindingsAtOnceMax = 100;

/**
 * The server's end of all node streams: renewals and reports become operations of the authority, and what is bound to
 * each node is told to its agent, from an index by node that the cache feeds. What a node has not read yet is never
 * kept: it is told the whole set instead, so that a slow stream costs nothing.
 */
export class NodeHub implements NodeStreams {
  readonly #lines = new Map<string, Line>();
  readonly #index: ObjectIndex<Replica>;
  #waiting: Line[] = [];
  #timer: Timer | undefined;
  readonly #counted = { renewals: 0, reports: 0, stale: 0, stoppedWhileListed: 0 };
  readonly #withdrawals: Withdrawals;

  constructor(private readonly parts: NodeHubParts) {
    this.#index = new ObjectIndex<Replica>(parts.objects, 'Replica', nodeOfReplica);
    this.#withdrawals = new Withdrawals({ env: parts.env, onOver: (replica) => this.#tellLate(replica) });
  }

  get counters(): HubCounters {
    return { lines: this.#lines.size, ...this.#counted };
  }

  /** Follows what is bound where until the signal aborts; then all streams end. */
  start(signal: AbortSignal): void {
    this.parts.objects.follow(
      (change) => this.#note(change),
      () => {
        this.#index.fill();
        for (const line of this.#lines.values()) this.#tellAll(line);
      },
      signal,
    );
    this.#index.fill();
    signal.addEventListener(
      'abort',
      () => {
        this.#timer?.cancel();
        this.#withdrawals.close();
        for (const line of this.#lines.values())
          this.#end(line, { kind: 'closed', message: 'the server stops' });
      },
      { once: true },
    );
  }

  register(input: Register): Promise<Outcome<Registered>> {
    return settled(this.parts.authority.register(input));
  }

  open(hello: NodeHello, ears: NodeEars): NodeLine {
    const line: Line = {
      ...hello,
      ...{ ears, told: new Map(), reportsUnderWay: 0, renewal: undefined, isOpen: false, isBehind: true },
      ...{ isOpening: false, usage: new NodeUsage(), revisions: new Map(), rest: undefined },
    };
    const last = this.#lines.get(hello.node);
    this.#lines.set(hello.node, line);
    if (last !== undefined)
      queueMicrotask(() => last.ears.hear({ kind: 'closed', message: 'the node has opened another stream' }));
    this.#renew(line, hello.id);
    return {
      say: (message) => this.#say(line, message),
      resume: () => {
        if (line.isBehind) this.#tellAll(line);
        else this.#tellRest(line, false);
      },
      close: () => this.#forget(line),
    };
  }

  /** Tells a node's agent that somebody waits for it under this id; false if the node has no stream here. */
  attach(node: string, id: string, request: SessionRequest): boolean {
    const line = this.#lines.get(node);
    if (line === undefined || !line.isOpen) return false;
    line.ears.hear({ kind: 'attach', id, request });
    return true;
  }

  /** What nodes with a stream here have told of the use of their replicas. */
  usage(tenant: string | undefined): UsagePage {
    const now = this.parts.env.clock.monotonic();
    const items: KnownUsage[] = [];
    let more = 0;
    for (const { node, usage } of this.#lines.values()) {
      if (usage.size === 0) continue;
      for (const { metadata, spec } of this.#index.of(node)) {
        const { namespace = '', name, uid } = metadata;
        const known = tenant === undefined || tenant === namespace ? usage.of(uid, now) : undefined;
        if (known === undefined) continue;
        if (items.length < usageItemsMax)
          items.push({ namespace, name, workload: spec.workload, node, ...known });
        else more += 1;
      }
    }
    return { items, more, unanswered: [] };
  }

  #isLive(line: Line): boolean {
    return this.#lines.get(line.node) === line;
  }

  #forget(line: Line): void {
    if (this.#isLive(line)) this.#lines.delete(line.node);
  }

  #end(line: Line, last: NodeHears): void {
    if (!this.#isLive(line)) return;
    this.#lines.delete(line.node);
    line.ears.hear(last);
  }

  #say(line: Line, message: NodeSays): void {
    if (!this.#isLive(line)) return;
    if (message.kind === 'renew') {
      this.#renew(line, message.id);
      const { usage = [] } = message;
      line.usage.note(usage, this.parts.env.clock.monotonic(), (uid) => line.told.has(uid));
    } else void this.#report(line, message.id, message.report);
  }

  // ---- up ------------------------------------------------------------------------------------------------

  #renew(line: Line, id: number): void {
    const isWaiting = line.renewal !== undefined;
    line.renewal = id;
    if (isWaiting) return;
    this.#waiting.push(line);
    this.#timer ??= this.parts.env.after(gatherMs, () => {
      this.#timer = undefined;
      const gathered = this.#waiting;
      this.#waiting = [];
      // All in one turn: the authority puts them into as few transactions as they fit.
      for (const each of gathered) if (this.#isLive(each)) void this.#sendRenewal(each);
    });
  }

  async #sendRenewal(line: Line): Promise<void> {
    const { node, epoch, renewal: id = 0 } = line;
    const outcome = await settled(
      this.parts.authority.renew({ name: nodeLeaseName(node), holder: node, epoch }),
    );
    const later = line.renewal;
    line.renewal = undefined;
    if (!this.#isLive(line)) return;
    // It has renewed again meanwhile: that one counts from later, and is committed for itself.
    if (later !== undefined && later !== id) this.#renew(line, later);
    if (outcome.kind === 'Rejected' && outcome.reason === 'StaleEpoch')
      return this.#stale(line, outcome.message);
    if (outcome.kind !== 'Committed' && outcome.kind !== 'AlreadyCommitted') {
      // It is not acknowledged, and the node renews again; one that has only come does not know when.
      if (!line.isOpen) this.#end(line, { kind: 'closed', message: outcome.message });
      return;
    }
    this.#counted.renewals += 1;
    const { fence } = outcome.result;
    const renewSeconds = renewPeriodSeconds(this.parts.nodes(), fence.permitSeconds);
    line.ears.hear({ kind: 'renewed', id, fence, renewSeconds });
    if (line.isOpen || line.isOpening) return;
    line.isOpening = true;
    this.#openAt(line, Number(outcome.revision));
  }

  /**
   * [S5] The set that is told counts as whole: what is not in it is stopped, what is bound in it is started. So it is not told
   * from before the renewal: the last server may have bound, ended or released what this one has not seen yet.
   */
  #openAt(line: Line, version: number): void {
    if (!this.#isLive(line)) return;
    if (Number(this.parts.objects.version) < version) {
      this.parts.env.after(catchUpMs, () => this.#openAt(line, version));
      return;
    }
    line.isOpen = true;
    this.#tellAll(line);
  }

  async #report(line: Line, id: number, report: StreamReport): Promise<void> {
    if (line.reportsUnderWay >= reportsUnderWayMax) {
      const message = `${reportsUnderWayMax} reports of the node are under way; it has to wait for answers`;
      queueMicrotask(() => this.#end(line, { kind: 'closed', message }));
      return;
    }
    line.reportsUnderWay += 1;
    this.#counted.reports += 1;
    const { node, epoch: nodeEpoch } = line;
    const outcome = await settled(this.parts.authority.report({ ...report, node, nodeEpoch }));
    line.reportsUnderWay -= 1;
    if (!this.#isLive(line)) return;
    if (outcome.kind === 'Rejected' && outcome.reason === 'StaleEpoch') this.#stale(line, outcome.message);
    else line.ears.hear({ kind: 'reported', id, outcome });
  }

  #stale(line: Line, message: string): void {
    this.#counted.stale += 1;
    this.#end(line, { kind: 'stale', message });
  }

  // ---- down ----------------------------------------------------------------------------------------------

  #note(change: ObjectChange): void {
    if (change.kind === 'Node') return this.#noteNode(change.object as Node);
    if (change.kind !== 'Replica') return;
    this.#index.note(change);
    const { namespace, name, uid } = change.object.metadata;
    // As it is now: news may come late, and a node that was told the whole set meanwhile must not hear older things.
    const live = this.parts.objects.get<Replica>('Replica', namespace, name);
    const after = live?.metadata.uid === uid ? live : undefined;
    const node = after && nodeOfReplica(after);
    const before = change.before && nodeOfReplica(change.before as Replica);
    if (after !== undefined && node !== undefined) this.#tell(node, after);
    else if (before !== undefined) this.#tellGone(before, uid);
    if (node === undefined) this.#withdrawals.forget(uid);
  }

  /** Its wait to leave the endpoints is over; it may be another one by now, or gone. */
  #tellLate({ metadata: { namespace, name, uid } }: Replica): void {
    const live = this.parts.objects.get<Replica>('Replica', namespace, name);
    const node = live?.metadata.uid === uid ? nodeOfReplica(live) : undefined;
    if (live === undefined || node === undefined) return this.#withdrawals.forget(uid);
    this.#counted.stoppedWhileListed += 1;
    this.#tell(node, live);
  }

  /** Somebody has registered the node again: whoever still speaks under the last epoch learns it now. */
  #noteNode({ metadata: { name }, status }: Node): void {
    const line = this.#lines.get(name);
    const epoch = status?.epoch;
    if (line === undefined || epoch === undefined || !isOlderEpoch(line.epoch, epoch)) return;
    this.#stale(line, `node ${name} has registered again, under epoch ${shownEpoch(epoch)}`);
  }

  #tell(node: string, stored: Replica): void {
    const line = this.#lines.get(node);
    if (line === undefined || line.isBehind) return;
    const { uid } = stored.metadata;
    // Its turn comes, and then it is told as it is by then.
    if (line.rest?.has(uid) === true) return;
    const replica = this.#asToBeTold(stored);
    if (line.told.get(uid)?.mark === markOf(replica)) return;
    const binding = this.#bindingFor(line, replica);
    if (binding === undefined) return;
    if (line.ears.hasRoom()) {
      this.#noteTold(line, replica, binding);
      line.ears.hear({ kind: 'bindings', bindings: [binding], gone: [] });
    } else if (line.rest === undefined) line.isBehind = true;
    else line.rest.set(uid, stored);
  }

  #asToBeTold(replica: Replica): Replica {
    return this.#withdrawals.isHeld(replica) ? unasked(replica) : replica;
  }

  #tellGone(node: string, uid: string): void {
    const line = this.#lines.get(node);
    if (line === undefined) return;
    line.usage.forget(uid);
    line.rest?.delete(uid);
    if (line.isBehind || !noteGone(line, uid)) return;
    // While the whole set is on its way it would have to begin anew: so few bytes are always told.
    if (line.rest !== undefined || line.ears.hasRoom())
      line.ears.hear({ kind: 'bindings', bindings: [], gone: [uid] });
    else line.isBehind = true;
  }

  #tellAll(line: Line): void {
    line.isBehind = true;
    line.rest = undefined;
    if (!line.isOpen || !line.ears.hasRoom()) return;
    line.isBehind = false;
    line.told.clear();
    line.revisions.clear();
    line.rest = new Map();
    for (const stored of this.#index.of(line.node)) line.rest.set(stored.metadata.uid, stored);
    this.#tellRest(line, true);
  }

  /** Goes on with the whole set, part by part while there is room. */
  #tellRest(line: Line, isFirst: boolean): void {
    for (let begins = isFirst; line.rest !== undefined && (begins || line.ears.hasRoom()); begins = false) {
      if (!this.#isLive(line)) return;
      const bindings = this.#nextPart(line, line.rest);
      const ends = line.rest.size === 0;
      if (ends) {
        line.rest = undefined;
        line.usage.keepOnly((uid) => line.told.has(uid));
      }
      line.ears.hear({
        ...{ kind: 'bindings', bindings, gone: [] },
        ...(begins && { begins }),
        ...(ends && { ends }),
      });
    }
  }

  #nextPart(line: Line, rest: Map<string, Replica>): NodeBinding[] {
    const bindings: NodeBinding[] = [];
    let hasTemplate = false;
    for (const [uid, { metadata }] of rest) {
      const live = this.parts.objects.get<Replica>('Replica', metadata.namespace, metadata.name);
      const isHere = live?.metadata.uid === uid && nodeOfReplica(live) === line.node;
      const replica = isHere ? this.#asToBeTold(live) : undefined;
      const binding = replica && this.#bindingFor(line, replica);
      const isWithTemplate = binding?.template !== undefined;
      if (bindings.length === bindingsAtOnceMax || (isWithTemplate && hasTemplate)) break;
      rest.delete(uid);
      if (replica === undefined || binding === undefined) continue;
      hasTemplate ||= isWithTemplate;
      bindings.push(binding);
      this.#noteTold(line, replica, binding);
    }
    return bindings;
  }

  #bindingFor(line: Line, replica: Replica): NodeBinding | undefined {
    return bindingOf(this.parts.objects, replica, !line.revisions.has(revisionOf(replica)));
  }

  #noteTold(line: Line, replica: Replica, { template }: NodeBinding): void {
    const { uid } = replica.metadata;
    noteGone(line, uid);
    const name = revisionOf(replica);
    const count = line.revisions.get(name) ?? 0;
    const revision = count > 0 || template !== undefined ? name : undefined;
    if (revision !== undefined) line.revisions.set(revision, count + 1);
    line.told.set(uid, { mark: markOf(replica), revision });
  }
}

const revisionOf = ({ metadata, spec }: Replica): string => `${metadata.namespace}/${spec.revision}`;

/** Whether the node was told of it. */
function noteGone({ told, revisions }: Line, uid: string): boolean {
  const last = told.get(uid);
  if (last === undefined) return false;
  told.delete(uid);
  if (last.revision === undefined) return true;
  const left = (revisions.get(last.revision) ?? 0) - 1;
  if (left > 0) revisions.set(last.revision, left);
  else revisions.delete(last.revision);
  return true;
}

/** An error of the authority is an outcome that is not known to the node: it sends the same again. */
function settled<T>(asked: Promise<Outcome<T>>): Promise<Outcome<T>> {
  return asked.catch((error: unknown) => ({
    kind: 'UnknownOutcome',
    message: error instanceof Error ? error.message : String(error),
  }));
}

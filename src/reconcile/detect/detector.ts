import type { Node } from '../../model/kinds/node.js';
import type { Gate, Outcome } from '../../model/ports.js';
import type { FreshnessObserver } from '../../observe/freshness-observer.js';
import type { Acting } from '../runtime/acting.js';
import { isDurable, judgeGate } from './judge-gate.js';

const lookMs = 500;
// So many verdicts are made durable at one look; the rest wait for the next.
const movesPerLook = 512;

/**
 * The failure detector: makes its verdict on each node durable, and with it whether new work may come there. It writes
 * gates and nothing else: what runs on a node that is silent is not its matter.
 */
export class Detector {
  constructor(private readonly observer: FreshnessObserver) {}

  /** Looks at all nodes every so often until the signal aborts. */
  async run(acting: Acting, signal: AbortSignal): Promise<void> {
    // A new leader waits a full window itself before it calls anybody late.
    const leadingSince = acting.env.clock.monotonic();
    while (!signal.aborted) {
      const due: Omit<Gate, 'actor'>[] = [];
      for (const name of this.observer.nodes()) {
        const node = acting.objects.get<Node>('Node', undefined, name);
        // Mostly nothing is new: evidence is put together only where it is.
        const verdict = this.observer.look(name, leadingSince)?.verdict;
        if (node === undefined || verdict === undefined || isDurable(node, verdict)) continue;
        const move = judgeGate(node, this.observer.judge(name, leadingSince));
        if (move !== undefined) due.push(move);
        if (due.length >= movesPerLook) break;
      }
      await Promise.all(due.map((move) => this.#move(acting, move)));
      await acting.env.sleep(lookMs, signal).catch(() => undefined);
    }
  }

  /**
   * What is not done is due again at the next look. That another leads, the renewal of the lease tells.
   */
  async #move({ authority, actor, report }: Acting, move: Omit<Gate, 'actor'>): Promise<void> {
    const outcome = await authority
      .gate({ ...move, actor })
      .catch((error: unknown): Outcome<never> => ({ kind: 'UnknownOutcome', message: String(error) }));
    if (outcome.kind === 'Committed')
      report({
        ...{ controller: 'detector', key: move.node, message: `${move.reachability}: ${move.reason}` },
        ...(move.reachability === 'Fresh' && { level: 'info' }),
      });
    if (outcome.kind === 'Rejected' && outcome.reason === 'NotOwner')
      report({ controller: 'detector', key: move.node, message: outcome.message });
  }
}

import { CellView } from './cell-view.js';
import { ChargeBook } from './charge-book.js';
import type { LiveCharge } from './charges.js';
import type { CellState, Commit, SafetyChecker, Violation } from './checker.js';

/** What a charge claims, as `device ID` and `port NUMBER`. */
function claimedBy({ charge }: LiveCharge): readonly string[] {
  return [
    ...Object.values(charge.devices ?? {}).flatMap((ids) => ids.map((id) => `device ${id}`)),
    ...Object.values(charge.ports ?? {}).map((port) => `port ${port}`),
  ];
}

/** [S1] A device or port has at most one owner, and the claims of its node's account name exactly that one. */
export class ExclusiveOwners implements SafetyChecker {
  readonly rule = 'S1';
  checked = 0;
  readonly #book = new ChargeBook();

  onCommit(commit: Commit, state: CellState): readonly Violation[] {
    const nodes = new Set(this.#book.apply(commit, state).nodes.keys());
    for (const { key } of commit.changes)
      if (key.startsWith('/a/node/')) nodes.add(key.slice('/a/node/'.length));
    return [...nodes].flatMap((node) => this.#check(this.#book, node, state));
  }

  whole(state: CellState): readonly Violation[] {
    const book = ChargeBook.of(state);
    const nodes = new Set(book.nodes);
    for (const [key] of state.under('/a/node/')) nodes.add(key.slice('/a/node/'.length));
    return [...nodes].flatMap((node) => this.#check(book, node, state));
  }

  #check(book: ChargeBook, node: string, state: CellState): readonly Violation[] {
    const violations: Violation[] = [];
    const say = (message: string): void => {
      violations.push({ rule: this.rule, revision: state.revision, message: `node ${node}: ${message}` });
    };
    const charges = [...book.chargesOnNode(node)];
    const byUid = new Map(charges.map((live) => [live.uid, live]));
    const owners = new Map<string, LiveCharge>();
    for (const live of charges) {
      // What a preempting hold awaits is its victims' until they are released.
      const victims = live.awaits.map((uid) => byUid.get(uid)).filter((victim) => victim !== undefined);
      const awaited = new Set(victims.flatMap(claimedBy));
      for (const claim of claimedBy(live)) {
        if (awaited.has(claim)) continue;
        this.checked += 1;
        const other = owners.get(claim);
        if (other !== undefined) say(`${claim} is charged to both ${other.key} and ${live.key}`);
        owners.set(claim, live);
      }
    }
    const { devices = {}, ports = {} } = new CellView(state).nodeAccount(node)?.claims ?? {};
    const claims = new Map<string, string>([
      ...Object.entries(devices).map(([id, uid]) => [`device ${id}`, uid] as const),
      ...Object.entries(ports).map(([port, uid]) => [`port ${port}`, uid] as const),
    ]);
    for (const [claim, uid] of claims)
      if (!owners.has(claim)) say(`the account says ${claim} belongs to ${uid}; nothing charged has it`);
    for (const [claim, { key, uid }] of owners)
      if (claims.get(claim) !== uid)
        say(
          `${claim} is charged to ${key} (${uid}); the account says ${claims.get(claim) ?? 'it belongs to nobody'}`,
        );
    return violations;
  }
}

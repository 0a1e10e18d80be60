import type { Env } from '../env/env.js';
import type * as ports from '../model/ports.js';
import type { Epoch } from '../model/records.js';
import type { Stage } from '../model/stages.js';
import type { Replica } from '../model/kinds/replica.js';
import { Checks } from './checks.js';
import { Committer, type CommitterOptions } from './committer.js';
import { type Context, OperationContext, Seconds } from './context.js';
import type { Decide } from './decision.js';
import { bind } from './operations/bind.js';
import { evict } from './operations/disrupt.js';
import { setFence, settleFence } from './operations/fence.js';
import { forget } from './operations/forget.js';
import { moveGang } from './operations/gang.js';
import { grantWhole } from './operations/grant.js';
import { incarnate } from './operations/incarnate.js';
import { renewLease, resignLease, takeLease } from './operations/leases.js';
import { move } from './operations/move.js';
import { attest, gate, register } from './operations/nodes.js';
import { postpone } from './operations/postpone.js';
import { publish } from './operations/publish.js';
import { withdraw } from './operations/withdraw.js';
import { release, releaseHold } from './operations/release.js';
import { removeNode } from './operations/remove-node.js';
import { remark } from './operations/remark.js';
import { report } from './operations/report.js';
import { reserve } from './operations/reserve.js';

export interface AuthorityOptions extends CommitterOptions {
  readonly env: Env;
  /** The incarnation of the cell. */
  readonly cell: number;
  readonly checks?: Checks;
}

type Outcome<T> = ports.Outcome<T>;

/**
 * The authority of a cell (DESIGN §5): each operation is a pure decision over what its draft shows, carried by one
 * guarded transaction. Safe wherever and however often it runs; one at a time is for speed.
 */
export class CommitAuthority implements ports.Authority {
  readonly #committer: Committer;
  readonly #checks: Checks;
  readonly #seconds: Seconds;

  constructor(private readonly options: AuthorityOptions) {
    this.#committer = new Committer(options);
    this.#checks = options.checks ?? new Checks();
    this.#seconds = new Seconds(options.env);
  }

  takeLease(input: ports.TakeLease): Promise<Outcome<{ readonly epoch: Epoch }>> {
    return this.#submit((context) => takeLease(context, input));
  }
  renew(input: ports.RenewLease): Promise<Outcome<ports.Renewed>> {
    return this.#submit((context) => renewLease(context, input));
  }
  resign(input: ports.ResignLease): Promise<Outcome<undefined>> {
    return this.#submit((context) => resignLease(context, input));
  }
  register(input: ports.Register): Promise<Outcome<ports.Registered>> {
    return this.#submit((context) => register(context, input));
  }
  incarnate(input: ports.Incarnate): Promise<Outcome<{ readonly replica: Replica }>> {
    return this.#submit((context) => incarnate(context, input));
  }
  reserve(input: ports.Reserve): Promise<Outcome<{ readonly reservation: string; readonly uid: string }>> {
    return this.#submit((context) => reserve(context, input));
  }
  bind(proposals: readonly ports.Proposal[]): Promise<readonly Outcome<{ readonly fence: string }>[]> {
    // One context for all: nothing is created that would need a name of its own.
    const context = this.#context();
    return this.#committer.submitAll(
      sameTenantTogether(proposals),
      (index) => bind(context, proposals[index] as ports.Proposal),
      (index) => (proposals[index] as ports.Proposal).replica.tenant,
    );
  }
  postpone(input: ports.Postpone): Promise<Outcome<undefined>> {
    return this.#submit((context) => postpone(context, input));
  }
  report(input: ports.Report): Promise<Outcome<{ readonly stage: Stage }>> {
    return this.#submit((context) => report(context, input));
  }
  evict(input: ports.Evict): Promise<Outcome<{ readonly stage: Stage }>> {
    return this.#submit((context) => evict(context, input));
  }
  move(input: ports.Move): Promise<Outcome<{ readonly stage: Stage }>> {
    return this.#submit((context) => move(context, input));
  }
  release(input: ports.Release): Promise<Outcome<{ readonly stage: Stage }>> {
    return this.#submit((context) => release(context, input));
  }
  releaseHold(input: ports.ReleaseHold): Promise<Outcome<undefined>> {
    return this.#submit((context) => releaseHold(context, input));
  }
  publish(input: ports.Publish): Promise<Outcome<undefined>> {
    return this.#submit((context) => publish(context, input));
  }

  withdraw(input: ports.Withdraw): Promise<Outcome<undefined>> {
    return this.#submit((context) => withdraw(context, input));
  }
  gate(input: ports.Gate): Promise<Outcome<undefined>> {
    return this.#submit((context) => gate(context, input));
  }
  grant(input: ports.Grant): Promise<Outcome<undefined>> {
    return this.#submit((context) => grantWhole(context, input));
  }
  attest(input: ports.Attest): Promise<Outcome<undefined>> {
    return this.#submit((context) => attest(context, input));
  }
  setFence(input: ports.SetFence): Promise<Outcome<undefined>> {
    return this.#submit((context) => setFence(context, input));
  }
  settleFence(input: ports.SettleFence): Promise<Outcome<undefined>> {
    return this.#submit((context) => settleFence(context, input));
  }
  remark(input: ports.Remark): Promise<Outcome<undefined>> {
    return this.#submit((context) => remark(context, input));
  }
  moveGang(input: ports.MoveGang): Promise<Outcome<undefined>> {
    return this.#submit((context) => moveGang(context, input));
  }
  forget(input: ports.Forget): Promise<Outcome<undefined>> {
    return this.#submit((context) => forget(context, input));
  }
  removeNode(input: ports.RemoveNode): Promise<Outcome<undefined>> {
    return this.#submit((context) => removeNode(context, input));
  }

  #submit<T>(decide: (context: Context) => Decide<T>): Promise<Outcome<T>> {
    return this.#committer.submit(decide(this.#context()));
  }

  #context(): Context {
    const { env, cell } = this.options;
    return new OperationContext(env, this.#seconds, this.#checks, cell);
  }
}

/**
 * The order in which proposals are decided. Those of one tenant share its accounts: together they fit more to a
 * transaction, and on etcd transactions of different tenants need not wait for each other.
 */
function sameTenantTogether(proposals: readonly ports.Proposal[]): readonly number[] {
  const byTenant = new Map<string, number[]>();
  for (const [index, { replica }] of proposals.entries()) {
    const together = byTenant.get(replica.tenant);
    if (together === undefined) byTenant.set(replica.tenant, [index]);
    else together.push(index);
  }
  return [...byTenant.values()].flat();
}

import { fenceContract } from '../../model/fence-contract.js';
import type { Lease } from '../../model/kinds/lease.js';
import type { Authority, Outcome, RenewLease, Renewed, ResignLease, TakeLease } from '../../model/ports.js';
import { type Epoch, sameEpoch } from '../../model/records.js';
import { type FakeObjects, objectOf } from '../../model/fake-objects.fixture.js';

/** The lease operations of an authority, over objects without a store. */
export class FakeLeases implements Pick<Authority, 'takeLease' | 'renew' | 'resign'> {
  readonly taken: TakeLease[] = [];
  renewals = 0;
  #operation = '';
  #number = 0;

  constructor(private readonly objects: FakeObjects) {}

  async takeLease(input: TakeLease): Promise<Outcome<{ readonly epoch: Epoch }>> {
    this.taken.push(input);
    const held = this.#held(input.name);
    const revision = this.objects.version;
    if (this.#operation === input.operation && held !== undefined)
      return { kind: 'AlreadyCommitted', result: { epoch: held.spec.epoch }, revision };
    const mayTake =
      held === undefined ||
      held.spec.holder === '' ||
      input.unchangedSince === 'Alone' ||
      String(input.unchangedSince) === held.metadata.resourceVersion;
    if (!mayTake) return { kind: 'Rejected', reason: 'StaleEpoch', message: 'it is held', revision };
    this.#number += 1;
    this.#operation = input.operation;
    const epoch = { cell: 1, number: this.#number };
    this.#put(input.name, input.holder, epoch, input.durationSeconds);
    return { kind: 'Committed', result: { epoch }, revision: this.objects.version };
  }

  async renew(input: RenewLease): Promise<Outcome<Renewed>> {
    const held = this.#held(input.name);
    const revision = this.objects.version;
    if (held?.spec.holder !== input.holder || !sameEpoch(held.spec.epoch, input.epoch))
      return { kind: 'Rejected', reason: 'StaleEpoch', message: 'it was lost', revision };
    this.renewals += 1;
    this.#put(input.name, input.holder, input.epoch, held.spec.durationSeconds);
    const result = {
      epoch: input.epoch,
      leaseRevision: Number(this.objects.version),
      fence: fenceContract,
    };
    return { kind: 'Committed', result, revision: this.objects.version };
  }

  async resign(input: ResignLease): Promise<Outcome<undefined>> {
    const held = this.#held(input.name);
    if (held?.spec.holder === input.holder) this.#put(input.name, '', input.epoch, held.spec.durationSeconds);
    return { kind: 'Committed', result: undefined, revision: this.objects.version };
  }

  #held(name: string): Lease | undefined {
    return this.objects.get<Lease>('Lease', undefined, name);
  }

  #put(name: string, holder: string, epoch: Epoch, durationSeconds: number): void {
    this.objects.put(objectOf('Lease', undefined, name, { spec: { holder, epoch, durationSeconds } }));
  }
}

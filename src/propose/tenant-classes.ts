import type { RuledRevision } from '../model/placement-rules.js';
import type { ClassKey } from './contract.js';

/** Whether other classes may have to be kept apart from it for rules of its own. */
export const hasApartRules = ({ spec: { placement } }: RuledRevision): boolean =>
  placement?.antiAffinity !== undefined;

/**
 * The classes of a tenant. A class is made anew whenever another comes or goes: which ones concern it is found without
 * going through all of them, for a tenant may have very many.
 */
export class TenantClasses {
  readonly #keys = new Map<ClassKey, RuledRevision>();
  readonly #withApartRules = new Set<ClassKey>();
  readonly #ofWorkload = new Map<string, Set<ClassKey>>();
  /** Changes when a class comes or goes. */
  version = 0;

  get size(): number {
    return this.#keys.size;
  }

  get keys(): Iterable<ClassKey> {
    return this.#keys.keys();
  }

  get withApartRules(): Iterable<ClassKey> {
    return this.#withApartRules;
  }

  ofWorkload(workload: string): Iterable<ClassKey> {
    return this.#ofWorkload.get(workload) ?? [];
  }

  set(key: ClassKey, revision: RuledRevision | undefined): void {
    const before = this.#keys.get(key);
    if (before !== undefined && before.spec.workload !== revision?.spec.workload) this.#leave(key, before);
    if (revision === undefined) {
      this.#keys.delete(key);
      this.#withApartRules.delete(key);
      return;
    }
    this.#keys.set(key, revision);
    if (hasApartRules(revision)) this.#withApartRules.add(key);
    else this.#withApartRules.delete(key);
    const { workload } = revision.spec;
    const siblings = this.#ofWorkload.get(workload);
    if (siblings === undefined) this.#ofWorkload.set(workload, new Set([key]));
    else siblings.add(key);
  }

  #leave(key: ClassKey, { spec: { workload } }: RuledRevision): void {
    const siblings = this.#ofWorkload.get(workload);
    siblings?.delete(key);
    if (siblings?.size === 0) this.#ofWorkload.delete(workload);
  }
}

import { shownMs } from './shown-ms.js';

/** An execution of a replica that started or has ended, as the world sees it. */
export interface Execution {
  readonly tenant: string;
  readonly workload: string;
  readonly slot: string;
  readonly uid: string;
  readonly running: boolean;
  readonly atMs: number;
  /** The machine whose supervisor may run it only while permitted; undefined: the replica is not fenced. */
  readonly fencedOn?: string;
}

/** Sees whether two executions of an AtMostOne slot overlap. Several of one replica at once overlap too. */
export class ExecutionWitness {
  readonly #atMostOne = new Set<string>();
  /** What runs, by slot: the uid of the replica for each execution. */
  readonly #running = new Map<string, string[]>();

  /** The replica with this uid promises it. Kept for as long as the run: an execution may outlive its record. */
  expectAtMostOne(uid: string): void {
    this.#atMostOne.add(uid);
  }

  note({ tenant, workload, slot, uid, running, atMs }: Execution): readonly string[] {
    const at = `${tenant}/${workload}/${slot}`;
    const there = this.#running.get(at) ?? [];
    if (!running) {
      const index = there.indexOf(uid);
      if (index < 0) return [`${at}: an execution of ${uid} ended at ${shownMs(atMs)} that never started`];
      this.#running.set(at, there.toSpliced(index, 1));
      return [];
    }
    this.#running.set(at, [...there, uid]);
    const isPromised = [uid, ...there].some((one) => this.#atMostOne.has(one));
    if (there.length === 0 || !isPromised) return [];
    return [`AtMostOne ${at}: ${uid} started at ${shownMs(atMs)} while ${there.join(', ')} still ran`];
  }
}

import type { ProcessIdentity, RunFacts } from '../supervisor/machine.js';
import type { Cgroup } from './cgroups.js';
import type { Isolation } from './launch-line.js';
import { allPids, childrenOf, readOr, signal, statOf } from './proc.js';

/** Every process of a run, wherever it went. */
export class ProcessTree {
  constructor(
    private readonly identity: ProcessIdentity,
    private readonly isolation: Isolation,
    private readonly run: Pick<RunFacts, 'uid' | 'execution'>,
    private readonly cgroup: Cgroup | undefined,
  ) {}

  /** Whether its first process is there, which lives as long as the run. */
  isThere(): boolean {
    const stat = statOf(this.identity.pid);
    return stat !== undefined && stat.startTicks === this.identity.startTicks && !stat.isZombie;
  }

  terminate(): boolean {
    const { pid } = this.identity;
    if (!this.isThere()) return false;
    if (this.isolation.kind === 'Group') return signal(-pid, 'SIGTERM');
    const jobs = childrenOf(pid);
    // The job leads a process group of its own, unless it has just been made and does not yet.
    for (const job of jobs) if (!signal(-job, 'SIGTERM')) signal(job, 'SIGTERM');
    return jobs.length > 0;
  }

  kill(): void {
    const { pid } = this.identity;
    // The first process of a namespace takes all others with it, and is gone only when they are.
    if (this.isolation.kind === 'Namespace') {
      if (this.isThere()) signal(pid, 'SIGKILL');
      return;
    }
    if (this.isThere()) signal(-pid, 'SIGKILL');
    for (const each of this.cgroup?.pids() ?? markedWith(markName, markOf(this.run))) signal(each, 'SIGKILL');
  }
}

/** A variable in the environment of every process of a run: how those are found that left its group. */
export const markOf = ({ uid, execution }: Pick<RunFacts, 'uid' | 'execution'>): string =>
  `${uid}/${execution}`;
export const markName = 'BERTH_RUN';

/** The processes that have this variable in their environment. */
export function markedWith(name: string, value: string): number[] {
  const words = `${name}=${value}`;
  return allPids().filter((pid) => readOr(`/proc/${pid}/environ`)?.split('\0').includes(words) === true);
}

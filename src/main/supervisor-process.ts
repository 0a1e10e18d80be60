import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Cgroups } from '../agent/process/cgroups.js';
import { isolationHere } from '../agent/process/isolation.js';
import { groupOf, ProcessMachine } from '../agent/process/process-machine.js';
import { cgroupName } from '../agent/process/cgroup-name.js';
import { logBounds, LogWriter } from '../agent/logs/log-writer.js';
import { JournalFile } from '../agent/journal-file.js';
import { isRunEntry, keptRuns, pastRuns } from '../agent/supervisor/past-runs.js';
import { Supervisor } from '../agent/supervisor/supervisor.js';
import { SupervisorServer } from '../agent/supervisor/supervisor-server.js';
import { realEnv } from '../env/real.js';
import { BerthError } from '../model/errors.js';
import { lockDirectory } from '../store/directory-lock.js';

// How long is waited for what nobody knows of to end: a process that the kernel holds may take longer.
const strangerLookMs = 50;
const strangerLooksMax = 100;

/**
 * The supervisor of one machine: `supervisor-process.js DIR`. Started by an agent, outlives it, and is found again through
 * a socket in DIR. The lock of DIR/supervisor, which the kernel holds, makes it the only one.
 */
async function main(dir: string): Promise<void> {
  process.umask(0o077);
  const env = realEnv();
  const own = join(dir, 'supervisor');
  mkdirSync(own, { recursive: true, mode: 0o700 });
  lockDirectory(own);
  const cgroups = Cgroups.open(cgroupName(dir));
  const over = (): void => {
    cgroups.remove();
    process.exit(0);
  };
  const isolation = isolationHere();
  const logs = join(dir, 'logs');
  const machine = new ProcessMachine({
    ...{ dir, isolation, cgroups, env },
    openLog: (labels) => LogWriter.open({ dir: logs, labels, ...logBounds, env }),
  });
  const { journal, entries, damage } = JournalFile.open(join(own, 'journal'), {
    ...{ kept: keptRuns, isEntry: isRunEntry, newId: () => env.uuid() },
  });
  const past = pastRuns(entries);
  if (damage !== undefined) {
    process.stderr.write(`${damage}\n`);
    // [S5] What it does not say any more ends before anybody is told what there is.
    const isKnown = (run: string): boolean => [...past.values()].some(({ facts }) => groupOf(facts) === run);
    for (let looks = 0; looks < strangerLooksMax && cgroups.endOthers(isKnown) > 0; looks++)
      await env.sleep(strangerLookMs);
  }
  const server = new SupervisorServer({
    ...{ dir, env },
    facts: {
      ...{
        pid: process.pid,
        canFence: machine.canFence,
        unenforced: cgroups.unenforced,
        journal: journal.id,
      },
      ...(damage !== undefined && { damage }),
      isolation:
        isolation.kind === 'Namespace' && isolation.needsUserNamespace ? 'UserNamespace' : isolation.kind,
    },
    onOver: over,
  });
  const supervisor = new Supervisor(
    { machine, journal, env, onEvent: (event) => server.tell(event) },
    past.values(),
  );
  const live = new Set(supervisor.list().flatMap((run) => (run.state.at === 'Ended' ? [] : [groupOf(run)])));
  cgroups.sweep((run) => live.has(run));
  await server.listen(supervisor);
  // Asked to end by whoever is above it: a clean stop, jobs first.
  const graceSeconds = 8;
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.once(signal, () => void supervisor.endAll(graceSeconds).then(over));
}

const dir = process.argv[2];
if (dir === undefined) throw new BerthError('BadRequest', 'usage: supervisor-process DIR');
try {
  await main(dir);
} catch (error) {
  // Another one is there: that is as good.
  if (error instanceof BerthError && error.code === 'StoreLocked') process.exit(0);
  throw error;
}

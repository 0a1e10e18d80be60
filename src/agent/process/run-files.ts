import { spawn } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RunFacts, RunSpec } from '../supervisor/machine.js';
import { environmentText } from './launch-line.js';

/** Where the files of runs are, below an agent's directory. */
export class RunFiles {
  constructor(readonly dir: string) {}

  /** Of one execution: its pipes and its environment. */
  execution({ uid, execution }: Pick<RunFacts, 'uid' | 'execution'>): string {
    return join(this.dir, 'runs', uid, String(execution));
  }

  environment(run: Pick<RunFacts, 'uid' | 'execution'>): string {
    return join(this.execution(run), 'environment');
  }

  /** Of a replica, from its first execution to its last. */
  scratch(uid: string): string {
    return join(this.dir, 'scratch', uid);
  }

  get pipes(): string {
    return join(this.dir, 'pipes');
  }

  /** Makes what they are in. Whatever it was before: no job gets into `runs`, every job through to its own scratch. */
  prepare(): void {
    for (const [name, mode] of [['runs', 0o700] as const, ['scratch', 0o711] as const]) {
      const path = join(this.dir, name);
      mkdirSync(path, { recursive: true });
      chmodSync(path, mode);
    }
  }

  /** Makes them. The environment stays the agent's: what starts the job opens it before it takes on the job's user. */
  make(spec: RunSpec, env: Readonly<Record<string, string>>): void {
    const { uid, user, workingDirectory } = spec;
    mkdirSync(this.execution(spec), { recursive: true, mode: 0o700 });
    mkdirSync(this.scratch(uid), { recursive: true, mode: 0o700 });
    writeFileSync(this.environment(spec), environmentText(env, workingDirectory), { mode: 0o600 });
    if (user !== undefined) chownSync(this.scratch(uid), user.uid, user.gid);
  }

  /** Who a replica runs as, whatever agent chose that; undefined: who this agent runs as. */
  userOf(uid: string): RunSpec['user'] {
    const owner = statSync(this.scratch(uid));
    return owner.uid === process.getuid?.() ? undefined : { uid: owner.uid, gid: owner.gid };
  }

  /** Whether a replica runs as this agent does. */
  isOfAgent(uid: string): boolean {
    return statSync(this.scratch(uid), { throwIfNoEntry: false })?.uid === process.getuid?.();
  }

  /** Executions before this one leave nothing but their logs. */
  removeBefore({ uid, execution }: RunFacts): void {
    const path = join(this.dir, 'runs', uid, String(execution - 1));
    if (execution > 1) rmSync(path, { recursive: true, force: true });
  }

  /** Elsewhere, and without a word: what a job has left may take long to remove, and fences are kept meanwhile. */
  remove(uid: string): void {
    const paths = [join(this.dir, 'runs', uid), this.scratch(uid)];
    spawn('/bin/sh', ['-c', removal, 'berth-remove', ...paths], { stdio: 'ignore', detached: true })
      .once('error', () => undefined)
      .unref();
  }
}

// Directories that their job has made read-only, as some package managers do, are opened first.
const removal = 'rm -rf -- "$@" || { chmod -R u+rwX -- "$@"; rm -rf -- "$@"; }';

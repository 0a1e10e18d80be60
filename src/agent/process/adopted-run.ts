import type { Env, Timer } from '../../env/env.js';
import type { RunExit, RunHandle } from '../supervisor/machine.js';
import type { Cgroup } from './cgroups.js';
import type { ProcessTree } from './process-tree.js';
import type { RunOutput } from './run-output.js';

// Only its parent is told that a process has ended; whoever adopted it looks.
const lookMs = 250;

/** A run of an earlier supervisor. That it has ended can be seen, but not how. */
export class AdoptedRun implements RunHandle {
  #timer: Timer;

  constructor(
    private readonly parts: {
      readonly tree: ProcessTree;
      readonly cgroup: Cgroup | undefined;
      readonly output: RunOutput;
      readonly env: Env;
      readonly onExit: (exit: RunExit) => void;
    },
  ) {
    parts.output.keep();
    this.#timer = parts.env.after(lookMs, () => void this.#look());
  }

  open(): void {
    // It was opened by whoever started it.
  }

  terminate(): boolean {
    return this.parts.tree.terminate();
  }

  kill(): void {
    this.parts.tree.kill();
  }

  async #look(): Promise<void> {
    const { tree, cgroup, output, env, onExit } = this.parts;
    if (tree.isThere()) {
      this.#timer = env.after(lookMs, () => void this.#look());
      return;
    }
    this.#timer.cancel();
    tree.kill();
    const oomKills = cgroup?.oomKills() ?? 0;
    await output.close();
    cgroup?.remove();
    onExit({ ...(oomKills > 0 && { oomKills }) });
  }
}

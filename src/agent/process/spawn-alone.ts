import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';

const closedOnExec = 0o2000000;

/**
 * Starts a program that has no file open but those that `stdio` names. What Node opens is closed by the kernel when another
 * program begins; the data file of an LMDB store in this process is not, and whoever inherits it reads and writes the store.
 */
export function spawnAlone(
  program: string,
  words: readonly string[],
  options: Omit<SpawnOptions, 'stdio'> & { readonly stdio: readonly ('ignore' | 'pipe' | number)[] },
): ChildProcess {
  const stdio = [...options.stdio];
  const nothing = openSync('/dev/null', 'r');
  try {
    // Node has no way to close a descriptor for the program alone: there it is nothing.
    for (const descriptor of inheritedFiles()) {
      while (stdio.length <= descriptor) stdio.push('ignore');
      if (descriptor >= options.stdio.length) stdio[descriptor] = nothing;
    }
    return spawn(program, words, { ...options, stdio });
  } finally {
    closeSync(nothing);
  }
}

/** The files that this process has open, and that programs which it starts would have open too. */
function inheritedFiles(): number[] {
  return readdirSync('/proc/self/fd')
    .map(Number)
    .filter((descriptor) => {
      if (descriptor <= 2) return false;
      try {
        if (!readlinkSync(`/proc/self/fd/${descriptor}`).startsWith('/')) return false;
        const [, flags = '0'] =
          /^flags:\s+(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8')) ?? [];
        return (Number.parseInt(flags, 8) & closedOnExec) === 0;
      } catch {
        // Closed meanwhile: the list itself was one.
        return false;
      }
    });
}

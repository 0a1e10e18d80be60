import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RunUsage } from '../runner.js';
import type { RunLimits } from '../supervisor/machine.js';
import { type CgroupLayout, cgroupLayout, type Controller, controllers } from './cgroup-layout.js';
import { readOr } from './proc.js';

/** The control groups of one run: one directory, or with version 1 one for each controller. */
export interface Cgroup {
  /** Whoever writes 0 to each of these is in. */
  readonly joinFiles: readonly string[];
  oomKills(): number;
  usage(): RunUsage;
  /** Those in it, commands beside the job included. */
  pids(): number[];
  /** A group within it, for a command beside the job: it counts with the job, and can be found apart from it. */
  within(name: string): Pick<Cgroup, 'joinFiles' | 'pids' | 'remove'>;
  /** Goes once it is empty. */
  remove(): void;
}

// Against fork bombs; nobody declares how many processes a job needs.
const pidsMax = 4_096;

/** The control groups of one agent's jobs, as far as the machine has them and lets us. */
export class Cgroups {
  private constructor(
    private readonly layout: CgroupLayout,
    private readonly name: string,
  ) {}

  /** `name` keeps agents of one machine apart. */
  static open(name: string): Cgroups {
    const isRoot = process.getuid?.() === 0;
    const offered = (group: string): string[] =>
      (readOr(join(group, 'cgroup.controllers')) ?? '').trim().split(' ');
    const found = cgroupLayout(
      readOr('/proc/self/mountinfo') ?? '',
      readOr('/proc/self/cgroup') ?? '',
      ...([isRoot, offered] as const),
    );
    const layout: CgroupLayout = {};
    for (const controller of controllers) {
      const place = found[controller];
      if (place !== undefined && prepared(place.base, place.version, name, controller))
        layout[controller] = place;
    }
    const cgroups = new Cgroups(layout, name);
    return cgroups;
  }

  /** What is not held to a limit here, and so belongs on the node as a condition. */
  get unenforced(): Exclude<Controller, 'cpuacct'>[] {
    return (['memory', 'cpu', 'pids'] as const).filter((each) => this.layout[each] === undefined);
  }

  /** Makes the groups of a run. Undefined if the machine has none. */
  make(run: string, limits: RunLimits): Cgroup | undefined {
    const cgroup = this.find(run);
    for (const directory of this.#directories(run)) mkdirSync(directory, { recursive: true });
    const { memoryBytes, cpuMillis } = limits;
    if (memoryBytes !== undefined) this.#limitMemory(run, memoryBytes);
    if (cpuMillis !== undefined) this.#weighCpu(run, cpuMillis);
    this.#set(run, 'pids', 'pids.max', 'pids.max', pidsMax);
    return cgroup;
  }

  /** The groups of a run that were made before, by whoever. */
  find(run: string): Cgroup | undefined {
    const directories = this.#directories(run);
    if (directories.length === 0) return undefined;
    return {
      joinFiles: [...this.#byVersion(run)].map(([directory, version]) => joinFile(directory, version)),
      oomKills: () => this.#oomKills(run),
      usage: () => this.#usage(run),
      pids: () => pidsIn(directories[0] ?? ''),
      within: (name) => this.#within(run, name),
      remove: () => {
        for (const directory of directories) removeGroup(directory);
      },
    };
  }

  /** Removes groups of runs that are over: a supervisor that was killed could not. */
  sweep(isLive: (run: string) => boolean): void {
    for (const parent of this.#directories('.'))
      for (const run of directoriesIn(parent)) if (!isLive(run)) removeGroup(join(parent, run));
  }

  /** Kills what is in groups of other runs than these, and says how many there were. */
  endOthers(isKnown: (run: string) => boolean): number {
    const [parent] = this.#directories('.');
    const others = parent === undefined ? [] : directoriesIn(parent).filter((run) => !isKnown(run));
    const pids = others.flatMap((run) => this.find(run)?.pids() ?? []);
    for (const pid of pids) killed(pid);
    return pids.length;
  }

  /** The supervisor ends for good: nothing is left where its groups were, unless something still runs in them. */
  remove(): void {
    this.sweep(() => false);
    for (const parent of this.#directories('.')) removeGroup(parent);
  }

  // In one tree only. With version 1 that of `pids`, where a group counts with the one around it on every kernel.
  #within(run: string, name: string): ReturnType<Cgroup['within']> {
    const groups = this.#byVersion(run);
    const { pids } = this.layout;
    const around = pids === undefined ? ([...groups.keys()][0] ?? '') : this.#path(pids.base, run);
    const directory = join(around, name);
    mkdirSync(directory, { recursive: true });
    return {
      joinFiles: [...groups].map(([each, version]) => joinFile(each === around ? directory : each, version)),
      pids: () => pidsIn(directory),
      remove: () => removeGroup(directory),
    };
  }

  #limitMemory(run: string, bytes: number): void {
    this.#set(run, 'memory', 'memory.limit_in_bytes', 'memory.max', bytes);
    // Swap is not a way around the limit. Kernels without swap accounting have no such file.
    this.#set(run, 'memory', 'memory.memsw.limit_in_bytes', 'memory.swap.max', bytes, 0);
  }

  #weighCpu(run: string, millis: number): void {
    const shares = Math.min(262_144, Math.max(2, Math.round((millis * 1_024) / 1_000)));
    // The kernel's own scale: 2…262144 onto 1…10000.
    const weight = 1 + Math.floor(((shares - 2) * 9_999) / 262_142);
    this.#set(run, 'cpu', 'cpu.shares', 'cpu.weight', shares, weight);
  }

  #set(run: string, controller: Controller, fileOne: string, fileTwo: string, one: number, two = one): void {
    const place = this.layout[controller];
    if (place === undefined) return;
    const [file, value] = place.version === 1 ? [fileOne, one] : [fileTwo, two];
    try {
      writeFileSync(join(this.#path(place.base, run), file), String(value));
    } catch {
      // What the machine does not take stays unlimited: `unenforced` is about controllers, known before any job starts.
    }
  }

  #oomKills(run: string): number {
    const place = this.layout.memory;
    if (place === undefined) return 0;
    const path = this.#path(place.base, run);
    const text = readOr(join(path, place.version === 1 ? 'memory.oom_control' : 'memory.events'));
    return numberAfter(text, 'oom_kill');
  }

  #usage(run: string): RunUsage {
    const { memory, cpuacct } = this.layout;
    const read = (place: typeof memory, one: string, two: string): string | undefined =>
      place === undefined
        ? undefined
        : readOr(join(this.#path(place.base, run), place.version === 1 ? one : two));
    const used = Number(read(memory, 'memory.usage_in_bytes', 'memory.current') ?? 0);
    // What the kernel can take back at once is not the job's need.
    const stat = read(memory, 'memory.stat', 'memory.stat');
    const inactive = numberAfter(stat, memory?.version === 1 ? 'total_inactive_file' : 'inactive_file');
    const cpu = read(cpuacct, 'cpuacct.usage', 'cpu.stat');
    const cpuSeconds = cpuacct?.version === 2 ? numberAfter(cpu, 'usage_usec') / 1e6 : Number(cpu ?? 0) / 1e9;
    return { cpuSeconds, memoryBytes: Math.max(0, used - inactive), oomKills: this.#oomKills(run) };
  }

  #path(base: string, run: string): string {
    return join(base, 'berth', this.name, run);
  }

  #directories(run: string): string[] {
    return [...this.#byVersion(run).keys()];
  }

  #byVersion(run: string): Map<string, 1 | 2> {
    return new Map(
      controllers.flatMap((each) => {
        const place = this.layout[each];
        return place === undefined ? [] : [[this.#path(place.base, run), place.version] as const];
      }),
    );
  }
}

/** Makes the groups that those of runs are made in. False: the machine does not let us. */
function prepared(base: string, version: 1 | 2, name: string, controller: Controller): boolean {
  try {
    const parents = [base, join(base, 'berth'), join(base, 'berth', name)];
    for (const parent of parents) {
      mkdirSync(parent, { recursive: true });
      if (version === 1) continue;
      // Version 2 hands each controller down step by step.
      const word = controller === 'cpuacct' ? 'cpu' : controller;
      const file = join(parent, 'cgroup.subtree_control');
      if (!readFileSync(file, 'utf8').split(/\s/).includes(word)) writeFileSync(file, `+${word}`);
    }
    return true;
  } catch {
    return false;
  }
}

// A thread that moves itself takes no lock that all processes of the machine share; a whole process does.
const joinFile = (directory: string, version: 1 | 2): string =>
  join(directory, version === 1 ? 'tasks' : 'cgroup.procs');

function pidsIn(directory: string): number[] {
  const own = (readOr(join(directory, 'cgroup.procs')) ?? '').split('\n').filter(Boolean).map(Number);
  return [...own, ...directoriesIn(directory).flatMap((name) => pidsIn(join(directory, name)))];
}

function killed(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}

function removeGroup(directory: string): void {
  try {
    for (const name of directoriesIn(directory)) removeGroup(join(directory, name));
    rmdirSync(directory);
  } catch {
    // Not empty yet, or gone: the next sweep tries again.
  }
}

/** None if it is gone. */
function directoriesIn(parent: string): string[] {
  try {
    const entries = readdirSync(parent, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch {
    return [];
  }
}

const numberAfter = (text: string | undefined, word: string): number =>
  Number(new RegExp(`^${word} (\\d+)$`, 'm').exec(text ?? '')?.[1] ?? 0);

import type { Command } from 'commander';

interface CommandEntry {
  readonly name: string;
  readonly description: string;
  /** Loads the file of the command: only the one that is run. */
  readonly load: () => Promise<Command>;
}

/** Every command, in the order that help lists them. */
export const commands: readonly CommandEntry[] = [
  {
    name: 'up',
    description: 'run everything in one process, on an embedded store',
    load: async () => (await import('./up.js')).upCommand(),
  },
  {
    name: 'server',
    description: 'run the API server of a cell, alone or beside others on one etcd',
    load: async () => (await import('./server.js')).serverCommand(),
  },
  {
    name: 'get',
    description: 'show objects',
    load: async () => (await import('./get.js')).getCommand(),
  },
  {
    name: 'apply',
    description: 'make objects as files say, by server-side apply',
    load: async () => (await import('./apply.js')).applyCommand(),
  },
  {
    name: 'diff',
    description: 'show what apply would change',
    load: async () => (await import('./diff.js')).diffCommand(),
  },
  {
    name: 'delete',
    description: 'delete objects',
    load: async () => (await import('./delete.js')).deleteCommand(),
  },
  {
    name: 'wait',
    description: 'wait until something is so of objects',
    load: async () => (await import('./wait.js')).waitCommand(),
  },
  {
    name: 'version',
    description: 'print the version of berth and of Node',
    load: async () => (await import('./version.js')).versionCommand(),
  },
];

/** The command of that name, if there is one. */
export const commandNamed = (name: string): Promise<Command> | undefined =>
  commands.find((command) => command.name === name)?.load();

export const hasCommand = (name: string): boolean => commands.some((command) => command.name === name);

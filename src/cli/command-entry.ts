import type { Command } from 'commander';

/** A command as the list of commands has it. */
export interface CommandEntry {
  readonly name: string;
  readonly description: string;
  /** For programs, not for people: help does not list it. */
  readonly isHidden?: boolean;
  /** Loads the file of the command: only the one that is run. */
  readonly load: () => Promise<Command>;
}

import { execFileSync } from 'node:child_process';

const ip = (...words: readonly string[]): void => void execFileSync('ip', words, { stdio: 'pipe' });

/** A network of its own with one cable to this machine, which can be cut. Only root can make one. */
export class NetworkNamespace {
  readonly name: string;
  /** Where this machine is, as seen from inside. */
  readonly hostAddress: string;
  /** Where it is itself, as seen from this machine. */
  readonly address: string;
  readonly #cable: string;

  constructor(number: number) {
    // Process ids are below 4194304; a link's name has room for 15 characters.
    this.name = `berth-${process.pid}-${number}`;
    this.#cable = `bt${process.pid.toString(36)}x${number}`;
    const net = `10.${200 + (process.pid % 50)}.${number}`;
    this.hostAddress = `${net}.1`;
    this.address = `${net}.2`;
    ip('netns', 'add', this.name);
    ip('link', 'add', this.#cable, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', this.name);
    ip('addr', 'add', `${net}.1/24`, 'dev', this.#cable);
    ip('link', 'set', this.#cable, 'up');
    ip('-n', this.name, 'addr', 'add', `${this.address}/24`, 'dev', 'eth0');
    ip('-n', this.name, 'link', 'set', 'eth0', 'up');
    ip('-n', this.name, 'link', 'set', 'lo', 'up');
  }

  /** The words before a command that run it inside. */
  get words(): readonly string[] {
    return ['ip', 'netns', 'exec', this.name];
  }

  cut(): void {
    ip('link', 'set', this.#cable, 'down');
  }

  heal(): void {
    ip('link', 'set', this.#cable, 'up');
  }

  remove(): void {
    ip('netns', 'del', this.name);
  }
}

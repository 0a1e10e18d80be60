import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

/** A part of a bench that runs in a process of its own, as a server does, and answers in messages. */
export class OwnProcess {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;

  /** `script` stands beside whoever starts it; what it needs to know is its only argument. */
  constructor(script: URL, options: object) {
    this.#child = fork(script, [JSON.stringify(options)]);
    this.#exited = once(this.#child, 'exit');
  }

  /** Its next message. Rejects if it ends instead. */
  async answer<T>(): Promise<T> {
    const ended = this.#exited.then(() =>
      Promise.reject(new Error(`${this.#child.spawnargs[1]} ended with ${this.#child.exitCode}`)),
    );
    const [message] = (await Promise.race([once(this.#child, 'message'), ended])) as [T];
    return message;
  }

  ask<T>(question: string): Promise<T> {
    const answer = this.answer<T>();
    this.#child.send(question);
    return answer;
  }

  async close(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect();
    await this.#exited;
  }
}

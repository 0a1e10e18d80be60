import { request } from 'node:http';
import { connect } from 'node:net';
import type { Env } from '../../env/env.js';
import type { NetworkQuestion, ProbeCaller } from './probe-caller.js';

/** Probes over the machine's own network. No redirect is followed, and of an answer only its status is read. */
export class NetworkProbes implements ProbeCaller {
  constructor(private readonly env: Env) {}

  ask(question: NetworkQuestion, answer: (problem: string | undefined) => void): void {
    const { host, port, path, timeoutMs } = question;
    let isAnswered = false;
    const settle = (problem: string | undefined): void => {
      if (isAnswered) return;
      isAnswered = true;
      timer.cancel();
      asked.destroy();
      answer(problem);
    };
    const what = path === undefined ? `port ${port}` : `GET ${path} on port ${port}`;
    const asked =
      path === undefined
        ? connect({ host, port }, () => settle(undefined))
        : request(
            { host, port, path, agent: false, headers: { 'user-agent': 'berth-probe', connection: 'close' } },
            ({ statusCode = 0 }) =>
              settle(
                statusCode >= 200 && statusCode < 400 ? undefined : `${what}: answered with ${statusCode}`,
              ),
          ).end();
    const timer = this.env.after(timeoutMs, () => settle(`${what}: no answer within ${timeoutMs / 1_000} s`));
    asked.on('error', (error) => settle(`${what}: ${error.message}`));
  }
}

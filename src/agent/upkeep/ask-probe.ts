import type { Env } from '../../env/env.js';
import type { Runner } from '../runner.js';
import { expanded } from './launch.js';
import type { ProbeCaller } from './probe-caller.js';
import { type Probe, thresholdsOf } from './probe-streak.js';

/** The execution that is asked. */
export interface Probed {
  readonly uid: string;
  readonly runner: Pick<Runner, 'exec'>;
  /** Where it listens. */
  readonly host: string;
  readonly ports: Readonly<Record<string, number>>;
  readonly env: Readonly<Record<string, string>>;
}

// Of what a command that fails has printed, so much is told.
const printedMax = 200;

/**
 * Asks a probe's question once. The answer, undefined if it is good, comes within the probe's timeout. What a tenant wrote
 * and cannot be asked (a path with a space, a word with a zero byte) is a bad answer, and never the end of the agent.
 */
export function askProbe(
  parts: { readonly env: Env; readonly caller: ProbeCaller },
  probe: Probe,
  probed: Probed,
  answer: (problem: string | undefined) => void,
): void {
  try {
    ask(parts, probe, probed, answer);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    parts.env.after(0, () => answer(`it cannot be asked: ${why}`));
  }
}

function ask(
  parts: { readonly env: Env; readonly caller: ProbeCaller },
  probe: Probe,
  probed: Probed,
  answer: (problem: string | undefined) => void,
): void {
  const timeoutMs = thresholdsOf(probe).timeoutSeconds * 1_000;
  const { http, tcp, exec } = probe;
  if (exec !== undefined) return askCommand(parts.env, exec.command, probed, timeoutMs, answer);
  const named = http?.port ?? tcp?.port;
  const port = typeof named === 'string' ? (probed.ports[named] ?? Number(named)) : (named ?? Number.NaN);
  if (!Number.isInteger(port)) {
    parts.env.after(0, () => answer(`it has no port ${JSON.stringify(named)}`));
    return;
  }
  const path = http === undefined ? undefined : (http.path ?? '/');
  parts.caller.ask({ host: probed.host, port, path, timeoutMs }, answer);
}

function askCommand(
  env: Env,
  command: readonly string[],
  { uid, runner, env: variables }: Probed,
  timeoutMs: number,
  answer: (problem: string | undefined) => void,
): void {
  let printed = '';
  let isAnswered = false;
  const answerOnce = (problem: string | undefined): void => {
    if (isAnswered) return;
    isAnswered = true;
    timer.cancel();
    answer(problem);
  };
  const words = command.map((word) => expanded(word, variables));
  const session = runner.exec(
    uid,
    { command: words },
    {
      onOutput: (_, bytes) => {
        if (printed.length < printedMax) printed += Buffer.from(bytes).toString();
      },
      onExit: (exitCode, message) => {
        const said = printed.trim().slice(0, printedMax);
        const how = exitCode === undefined ? (message ?? 'could not be run') : `exited with ${exitCode}`;
        answerOnce(exitCode === 0 ? undefined : `${words[0]} ${how}${said === '' ? '' : `: ${said}`}`);
      },
    },
  );
  const timer = env.after(timeoutMs, () => {
    session.kill();
    answerOnce(`${words[0]} took longer than ${timeoutMs / 1_000} s`);
  });
  session.end();
}

import type { Command } from 'commander';
import type { BerthObject } from '../client/client.js';
import { formatDuration } from '../model/duration.js';
import { clientCommand } from './client-command.js';
import { CommandFailure, usageFailure } from './command-failure.js';
import { within } from './deadline.js';
import { type ExitCode, exitCodes } from './exit-codes.js';
import { Failures } from './failures.js';
import { followObject } from './follow-object.js';
import { pathIn } from './kind-lookup.js';
import { type Target, targetsOf } from './object-words.js';
import { inSession, type ClientOptions, type Session } from './session.js';
import { print } from './terminal.js';
import { parseExpectation, type Expectation } from './expectation.js';

interface WaitOptions extends ClientOptions {
  readonly for: string;
}

const waitMsUsual = 30_000;

export const waitCommand = (): Command =>
  clientCommand(
    'wait',
    'wait until something is so of objects; exit code 3 if it is not in time, 4 if it cannot be',
  )
    .argument('<words...>', 'KIND/NAME… or KIND NAME…')
    .requiredOption('--for <what>', "condition=TYPE[=STATUS], delete, or jsonpath='{.path}'[=VALUE]")
    .action((words: string[], { timeout, ...options }: WaitOptions) =>
      // Here --timeout is how long to wait for the end, not for each answer.
      inSession(options, (session) => waitForAll(session, words, options.for, timeout ?? waitMsUsual)),
    );

async function waitForAll(
  session: Session,
  words: readonly string[],
  what: string,
  waitMs: number,
): Promise<ExitCode> {
  const expectation = parseExpectation(what);
  const targets = targetsOf(words, await session.kinds()).flatMap(({ kind, names }) => {
    if (names.length === 0) throw usageFailure(`which ${kind.plural}? name them: ${kind.singular}/NAME`);
    return names.map((name) => ({ kind, names: [name] }));
  });
  const failures = new Failures();
  await Promise.all(
    targets.map(async (target) => {
      const label = `${target.kind.singular}/${target.names[0]}`;
      try {
        await waitForOne(session, target, expectation, waitMs);
        print(`${label} ${expectation.met}`);
      } catch (error) {
        failures.add(label, error);
      }
    }),
  );
  return failures.exitCode;
}

async function waitForOne(
  session: Session,
  { kind, names: [name = ''] }: Target,
  expectation: Expectation,
  waitMs: number,
): Promise<void> {
  const path = pathIn(kind, session.namespace);
  let last: BerthObject | undefined;
  const end = await within(session.env, waitMs, async (signal) => {
    for await (const object of followObject(session, path, name, signal)) {
      if (expectation.isMet(object)) return;
      if (object === undefined && last === undefined) throw new CommandFailure(exitCodes.error, 'not found');
      if (object === undefined)
        throw new CommandFailure(exitCodes.conditionFailed, `deleted while waiting for ${expectation.text}`);
      last = object;
    }
  });
  if (end === 'done') return;
  const seen = last === undefined ? '' : `; ${expectation.seen(last)}`;
  throw new CommandFailure(
    exitCodes.timedOut,
    `timed out after ${formatDuration(waitMs)} waiting for ${expectation.text}${seen}`,
  );
}

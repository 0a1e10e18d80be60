import type { Command } from 'commander';
import { formatDuration } from '../model/duration.js';
import type { Node } from '../model/kinds/node.js';
import type { KindPath } from '../client/client.js';
import { clientCommand } from './client-command.js';
import { CommandFailure } from './command-failure.js';
import { within } from './deadline.js';
import { drainNews, drainSummary, drainTable } from './drain-lines.js';
import { type ExitCode, exitCodes } from './exit-codes.js';
import { followObject } from './follow-object.js';
import { pathIn } from './kind-lookup.js';
import { durationOf } from './option-values.js';
import { type ClientOptions, inSession, type Session } from './session.js';
import { print } from './terminal.js';

interface DrainOptions extends ClientOptions {
  readonly deadline?: number;
  readonly reason?: string;
  readonly watch?: boolean;
}

// Whoever watches waits for the deadline of the drain rather than for one of its own, unless told otherwise.
const watchMsUsual = 24 * 3_600_000;

export const drainCommand = (): Command =>
  clientCommand('drain', 'have everything leave a node, within the disruption limits of the workloads')
    .argument('<node>', 'the node, as NAME or node/NAME')
    .option('--deadline <duration>', 'when it counts as stuck; it goes on all the same', durationOf)
    .option('--reason <text>', 'why, for people')
    .option('-w, --watch', 'show how far it has come, until it is complete; exit code 3 if it is stuck')
    .action((word: string, { timeout, ...options }: DrainOptions) =>
      inSession(options, async (session): Promise<ExitCode> => {
        const name = nodeIn(word);
        const path = await nodesPath(session);
        const { deadline, reason } = options;
        const drain = {
          ...(reason !== undefined && { reason }),
          ...(deadline !== undefined && { deadlineSeconds: Math.ceil(deadline / 1_000) }),
        };
        const { metadata } = await session.client.patch(path, name, {
          type: 'merge',
          body: { spec: { drain } },
        });
        if (options.watch !== true) {
          print(`node/${name} drains`);
          return exitCodes.done;
        }
        return watchDrain(session, path, { name, generation: metadata.generation }, timeout ?? watchMsUsual);
      }),
    );

export const cordonCommand = (): Command =>
  clientCommand('cordon', 'let no new replicas come to a node; those there stay')
    .argument('<node>', 'the node, as NAME or node/NAME')
    .action((word: string, options: ClientOptions) =>
      inSession(options, async (session) => {
        const name = nodeIn(word);
        const body = { spec: { unschedulable: true } };
        await session.client.patch(await nodesPath(session), name, { type: 'merge', body });
        print(`node/${name} cordoned`);
      }),
    );

export const uncordonCommand = (): Command =>
  clientCommand('uncordon', 'let replicas come to a node again; ends its drain')
    .argument('<node>', 'the node, as NAME or node/NAME')
    .action((word: string, options: ClientOptions) =>
      inSession(options, async (session) => {
        const name = nodeIn(word);
        const body = { spec: { unschedulable: false, drain: null } };
        await session.client.patch(await nodesPath(session), name, { type: 'merge', body });
        print(`node/${name} uncordoned`);
      }),
    );

/** The node that a word names: NAME or node/NAME. */
export const nodeIn = (word: string): string => word.replace(/^(nodes?|no)\//, '');

const nodesPath = async (session: Session): Promise<KindPath> =>
  pathIn((await session.kinds()).find('nodes'), session.namespace);

async function watchDrain(
  session: Session,
  path: KindPath,
  { name, generation }: { readonly name: string; readonly generation: number },
  timeoutMs: number,
): Promise<ExitCode> {
  let last: NonNullable<Node['status']>['drain'];
  let code: ExitCode = exitCodes.timedOut;
  let isBeingDeleted = false;
  const screen = new Screen();
  const end = await within(session.env, timeoutMs, async (signal) => {
    for await (const object of followObject(session, path, name, signal)) {
      // A parsed boundary: what the server answers for nodes.
      const node = object as Node | undefined;
      if (node === undefined && isBeingDeleted) {
        print(`node/${name} is gone: nothing was left on it`);
        code = exitCodes.done;
        return;
      }
      isBeingDeleted = node?.metadata.deletionTimestamp !== undefined;
      if (node?.spec.drain === undefined)
        throw new CommandFailure(exitCodes.conditionFailed, `node/${name}: somebody ended the drain`);
      const { drain } = node.status ?? {};
      // What is said of an earlier drain is not meant.
      if (drain === undefined || (drain.observedGeneration ?? 0) < generation) continue;
      if (screen.isLive) screen.show(drainTable(name, drain, screen.rowsMost));
      else for (const line of drainNews(last, drain)) print(line);
      last = drain;
      if (drain.state === 'Draining') continue;
      if (!screen.isLive || drain.state === 'Stuck') print(drainSummary(name, drain));
      code = drain.state === 'Complete' ? exitCodes.done : exitCodes.timedOut;
      return;
    }
  });
  if (end === 'timedOut')
    throw new CommandFailure(
      exitCodes.timedOut,
      `timed out after ${formatDuration(timeoutMs)}: ${last === undefined ? 'the drain has not begun' : drainSummary(name, last)}`,
    );
  return code;
}

/** Where a terminal shows the same lines again and again, each time over the last. */
class Screen {
  #lines = 0;

  /** Motion only on a terminal. */
  get isLive(): boolean {
    return process.stdout.isTTY;
  }

  get rowsMost(): number {
    return Math.max(5, (process.stdout.rows ?? 24) - 4);
  }

  show(lines: readonly string[]): void {
    const columns = process.stdout.columns ?? 80;
    const up = this.#lines === 0 ? '' : `\u001B[${this.#lines}F\u001B[J`;
    process.stdout.write(`${up}${lines.map((line) => line.slice(0, columns)).join('\n')}\n`);
    this.#lines = lines.length;
  }
}

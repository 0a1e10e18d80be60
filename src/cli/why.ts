import type { Command } from 'commander';
import { pathOf } from '../client/kind-path.js';
import type { Explanation, NodeVerdicts } from '../model/explanation.js';
import { clientCommand } from './client-command.js';
import { usageFailure } from './command-failure.js';
import { type ExitCode, exitCodes } from './exit-codes.js';
import { explanationLines, verdictLines } from './explanation-lines.js';
import { pathIn } from './kind-lookup.js';
import { oneTarget } from './object-words.js';
import { outputOption } from './option-values.js';
import { formatValue } from './print-objects.js';
import { type ClientOptions, inSession, type Session } from './session.js';
import { print, say } from './terminal.js';

interface WhyOptions extends ClientOptions {
  readonly output?: 'json' | 'yaml';
}

const explained = ['Workload', 'Replica', 'Gang', 'Node'];
export const targetHelp =
  'KIND/NAME or KIND NAME, of a workload, replica, gang or node; NAME alone is a workload';

export const whyCommand = (): Command =>
  clientCommand('why', 'say where something stands, what limits it, whose move is next and what would help')
    .argument('<target...>', targetHelp)
    .addOption(outputOption(['json', 'yaml']))
    .action((words: string[], options: WhyOptions) =>
      inSession(options, async (session) => {
        const answer = (await askAbout(session, words, 'why')) as Explanation;
        const { env } = session;
        if (options.output !== undefined) print(await formatValue(answer, options.output));
        else print(explanationLines(answer, env.clock.wall()).join('\n'));
        for (const { server, message } of answer.unanswered)
          say(`warning: the decisions of server ${server} are missing: ${message}`);
        return answer.state === 'CannotBePlaced' ? exitCodes.cannotBePlaced : exitCodes.done;
      }),
    );

export const whyNotCommand = (): Command =>
  clientCommand('why-not', 'say what every filter of the scheduler says of one node')
    .argument('<target...>', targetHelp)
    .requiredOption('--node <name>', 'the node')
    .addOption(outputOption(['json', 'yaml']))
    .action((words: string[], options: WhyOptions & { readonly node: string }) =>
      inSession(options, async (session): Promise<ExitCode> => {
        const query = new URLSearchParams({ node: options.node });
        const answer = (await askAbout(session, words, 'why', query)) as NodeVerdicts;
        if (options.output !== undefined) print(await formatValue(answer, options.output));
        else print(verdictLines(answer).join('\n'));
        return answer.passes ? exitCodes.done : exitCodes.cannotBePlaced;
      }),
    );

/** Asks the server about one object: why it is so, or what happened to it. */
export async function askAbout(
  session: Session,
  words: readonly string[],
  question: 'why' | 'trace',
  query = new URLSearchParams(),
): Promise<unknown> {
  const [first = ''] = words;
  const isNameAlone = words.length === 1 && !first.includes('/');
  const { kind, name } = oneTarget(isNameAlone ? [`workload/${first}`] : words, await session.kinds());
  if (!explained.includes(kind.kind))
    throw usageFailure(
      `${question} is answered for ${explained.map((each) => each.toLowerCase()).join(', ')}, not for ${kind.singular}`,
    );
  return session.client.read(pathOf(pathIn(kind, session.namespace), name, question), { query });
}

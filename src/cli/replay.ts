import type { Command } from 'commander';
import { clientCommand } from './client-command.js';
import { usageFailure } from './command-failure.js';
import { type ExitCode, exitCodes } from './exit-codes.js';
import { pathIn } from './kind-lookup.js';
import { readManifests } from './manifests.js';
import { oneTarget } from './object-words.js';
import { outputOption } from './option-values.js';
import { formatValue } from './print-objects.js';
import { formatTable } from './print-table.js';
import { reportFailure } from './report-failure.js';
import { type ClientOptions, inSession } from './session.js';
import { print, say } from './terminal.js';

interface ReplayOptions extends ClientOptions {
  readonly filename?: string;
  readonly plugin: readonly string[];
  readonly output?: 'json' | 'yaml';
}

export const replayCommand = (): Command =>
  clientCommand('replay', 'run a scheduling decision again from its own inputs and compare the choice')
    .argument('[decision]', 'NAME or decision/NAME, of a decision that a server keeps')
    .option('-f, --filename <file>', 'read it from a file instead, as JSON or YAML; - is standard input')
    .option(
      '--plugin <file>',
      'a module of custom rules that it was made with; may be repeated',
      (file: string, files: readonly string[]) => [...files, file],
      [],
    )
    .addOption(outputOption(['json', 'yaml']))
    .action(async (name: string | undefined, options: ReplayOptions) => {
      if (options.filename === undefined)
        return inSession(options, async (session) => {
          if (name === undefined)
            throw usageFailure('which decision? Give its name, or a file that has it with -f');
          const target = oneTarget([name.includes('/') ? name : `decision/${name}`], await session.kinds());
          if (target.kind.kind !== 'Decision')
            throw usageFailure(`a decision can be run again, not a ${target.kind.singular}`);
          return compare(
            await session.client.get(pathIn(target.kind, session.namespace), target.name),
            options,
          );
        });
      try {
        if (name !== undefined) throw usageFailure('give the name of a decision or -f, not both');
        process.exitCode = await compare(fromFile(options.filename), options);
      } catch (error) {
        reportFailure(error);
      }
    });

function fromFile(file: string): unknown {
  const { manifests, problems } = readManifests([file], {});
  const [problem] = problems;
  if (problem !== undefined) throw usageFailure(problem);
  if (manifests.length !== 1)
    throw usageFailure(`-f ${file}: ${manifests.length} objects; one decision is needed`);
  return manifests[0]?.body;
}

async function compare(decision: unknown, { output, plugin }: ReplayOptions): Promise<ExitCode> {
  // Only this command runs the scheduler, and it takes a moment to load.
  const { replay } = await import('../main/replay.js');
  const replayed = await replay(decision, plugin);
  const { name, choices, differences, roomMade } = replayed;
  if (output !== undefined) print(await formatValue(replayed, output));
  else if (differences.length > 0)
    print(
      formatTable(
        ['REPLICA', 'DECIDED', 'NOW'],
        differences.map(({ replica, decided = '(none)', node = '(none)' }) => [replica, decided, node]),
      ),
    );
  const placed = choices.filter(({ node }) => node !== undefined).length;
  const all = choices.length === 1 ? 'its one replica' : `all ${choices.length} replicas`;
  say(
    differences.length === 0
      ? `decision ${name} run again: the same choice for ${all}, ${placed} placed`
      : `decision ${name} run again: another choice for ${differences.length} of ${choices.length} replicas`,
  );
  if (roomMade.length > 0)
    say(
      `room that others make for ${roomMade.length} of ${choices.length} was not planned again: who is on the nodes is not among the inputs`,
    );
  return differences.length === 0 ? exitCodes.done : exitCodes.conditionFailed;
}

import { Command } from 'commander';
import { clientCommand } from './client-command.js';
import { exitCodes } from './exit-codes.js';
import { durationOf, outputOption } from './option-values.js';
import { formatValue } from './print-objects.js';
import { type ClientOptions, inSession } from './session.js';
import { print, say } from './terminal.js';

interface Fence {
  readonly permitSeconds: number;
  readonly graceSeconds: number;
  readonly killMarginSeconds: number;
  readonly windowSeconds: number;
  readonly windowSecondsNext?: number;
  readonly driftMax: number;
  readonly stallSecondsMax: number;
}

interface SetOptions extends ClientOptions {
  readonly permit?: number;
  readonly grace?: number;
  readonly kill?: number;
  readonly window?: number;
  readonly stall?: number;
}

const fencePath = '/apis/authority.berth.dev/v1/fence';

export const fenceCommand = (): Command =>
  new Command('fence')
    .description('what a renewal permits work that may run only once, and how long its release waits')
    .addCommand(getCommand(), { isDefault: true })
    .addCommand(setCommand());

const getCommand = (): Command =>
  clientCommand('get', 'show the fence of the cell')
    .addOption(outputOption(['json', 'yaml']))
    .action((options: ClientOptions & { output?: 'json' | 'yaml' }) =>
      inSession(options, async ({ client }) => {
        const fence = (await client.read(fencePath)) as Fence;
        if (options.output !== undefined) print(await formatValue(fence, options.output));
        else for (const line of linesOf(fence)) print(line);
        return exitCodes.done;
      }),
    );

const setCommand = (): Command =>
  clientCommand('set', 'change the fence of the cell; what is not given stays')
    .option('--permit <duration>', 'how long an acknowledged renewal permits a job to run', durationOf)
    .option('--grace <duration>', 'so long before that the job is asked to stop', durationOf)
    .option('--kill <duration>', 'so long before that it is killed', durationOf)
    .option('--window <duration>', 'how long a lease stands unchanged before a release', durationOf)
    .option('--stall <duration>', 'how long a machine may stall in the middle of a kill', durationOf)
    .action((options: SetOptions) =>
      inSession(options, async ({ client }) => {
        const { permit, grace, kill, window, stall } = options;
        const seconds = (name: string, ms: number | undefined): object =>
          ms === undefined ? {} : { [name]: ms / 1_000 };
        const wanted = {
          ...seconds('permitSeconds', permit),
          ...seconds('graceSeconds', grace),
          ...seconds('killMarginSeconds', kill),
          ...seconds('windowSeconds', window),
          ...seconds('stallSecondsMax', stall),
        };
        await client.ask(fencePath, wanted);
        const fence = (await client.read(fencePath)) as Fence;
        for (const line of linesOf(fence)) say(line);
        return exitCodes.done;
      }),
    );

function linesOf(fence: Fence): readonly string[] {
  const { permitSeconds, graceSeconds, killMarginSeconds, windowSeconds, windowSecondsNext } = fence;
  return [
    `a renewal permits ${permitSeconds} s; a job is asked to stop ${graceSeconds} s and killed ${killMarginSeconds} s before they end`,
    `a release waits until a lease has stood unchanged for ${windowSeconds} s${
      windowSecondsNext === undefined
        ? ''
        : `, and for ${windowSecondsNext} s once nothing can run any more that was permitted for longer`
    }`,
    `clocks may differ by ${fence.driftMax * 100} %, and a kill may stall for ${fence.stallSecondsMax} s`,
  ];
}

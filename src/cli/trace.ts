import type { Command } from 'commander';
import { shownAge } from '../model/age.js';
import type { Trace } from '../model/trace.js';
import { clientCommand } from './client-command.js';
import { outputOption } from './option-values.js';
import { formatValue } from './print-objects.js';
import { formatTable } from './print-table.js';
import { type ClientOptions, inSession } from './session.js';
import { print, say } from './terminal.js';
import { askAbout, targetHelp } from './why.js';

export const traceCommand = (): Command =>
  clientCommand('trace', 'tell what happened to something, in order, with who did it and on what evidence')
    .argument('<target...>', targetHelp)
    .addOption(outputOption(['json', 'yaml']))
    .action((words: string[], options: ClientOptions & { output?: 'json' | 'yaml' }) =>
      inSession(options, async (session) => {
        const trace = (await askAbout(session, words, 'trace')) as Trace;
        if (options.output !== undefined) {
          print(await formatValue(trace, options.output));
          return;
        }
        if (trace.earlier > 0) say(`${trace.earlier} earlier entries are not shown`);
        const rows = trace.entries.map(({ at, about, what, afterMs, actor, reason, evidence }) => [
          at,
          about,
          what,
          afterMs === undefined ? '' : shownAge(afterMs),
          actor,
          reason,
          Object.entries(evidence)
            .map(([name, value]) => `${name}: ${value}`)
            .join('; '),
        ]);
        print(formatTable(['AT', 'ABOUT', 'WHAT', 'AFTER', 'ACTOR', 'REASON', 'EVIDENCE'], rows));
        for (const { server, message } of trace.unanswered)
          say(`warning: the decisions of server ${server} are missing: ${message}`);
      }),
    );

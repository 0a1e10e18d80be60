import type { Command } from 'commander';
import { clientCommand } from './client-command.js';
import { involving } from './events-about.js';
import { showObjects } from './get.js';
import type { GetOptions } from './get-options.js';
import { oneTarget } from './object-words.js';
import { outputOption } from './option-values.js';
import { inSession, type Session } from './session.js';

export const eventsCommand = (): Command =>
  clientCommand('events', 'show what happened, oldest first, to one object if it is named')
    .argument('[words...]', 'KIND/NAME or KIND NAME')
    .option('-A, --all-namespaces', 'look in every namespace')
    .option('-w, --watch', 'go on and show what happens')
    .addOption(outputOption())
    .action((words: string[], options: GetOptions) =>
      inSession(options, (session) => showEvents(session, words, options)),
    );

async function showEvents(session: Session, words: readonly string[], options: GetOptions): Promise<void> {
  const order = options.watch === true ? {} : { sortBy: '.lastTimestamp' };
  if (words.length === 0) return showObjects(session, ['events'], { ...options, ...order });
  const { kind, name } = oneTarget(words, await session.kinds());
  return showObjects(session, ['events'], {
    ...options,
    ...order,
    fieldSelector: involving(kind, name),
    // Events of what belongs to no namespace may be in any.
    allNamespaces: options.allNamespaces === true || !kind.isNamespaced,
  });
}

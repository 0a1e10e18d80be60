import { Command } from 'commander';
import type { CommandEntry } from './command-entry.js';
import { pathIn } from './kind-lookup.js';
import { openSession, type Session } from './session.js';
import { print } from './terminal.js';

// Whoever presses tab waits this long for a server, and then gets nothing.
const answerMsMax = 1_500;
const candidatesMax = 500;
const takesObjects = new Set(['get', 'describe', 'edit', 'delete', 'wait', 'events', 'explain']);

/** What the scripts of `berth completion` ask: candidates for the last of the words, one per line; none is no error. */
export const completeCommand = (commands: readonly CommandEntry[]): Command =>
  new Command('__complete')
    .argument('[words...]')
    .allowUnknownOption()
    .helpOption(false)
    .action(async (words: string[]) => {
      try {
        const found = await candidates(words, commands);
        for (const word of found.slice(0, candidatesMax)) print(word);
      } catch {
        // A completion has nowhere to complain to.
      }
    });

async function candidates(words: readonly string[], commands: readonly CommandEntry[]): Promise<string[]> {
  const current = words.at(-1) ?? '';
  const [name = '', ...before] = words.slice(0, -1);
  const starting = (all: readonly string[]): string[] => all.filter((word) => word.startsWith(current));
  const shown = commands.filter(({ isHidden }) => isHidden !== true);
  if (words.length <= 1) return starting([...shown.map((command) => command.name), 'help']);
  if (name === 'help') return starting(shown.map((command) => command.name));
  const command = await shown.find((each) => each.name === name)?.load();
  if (command === undefined) return [];
  if (current.startsWith('-')) {
    return starting(
      command.options.flatMap(({ long, short }) => [long, short].filter((flag) => flag !== undefined)),
    );
  }
  if (command.commands.length > 0 && before.length === 0)
    return starting(command.commands.map((sub) => sub.name()));
  const previous = before.at(-1) ?? '';
  if (['-o', '--output'].includes(previous)) return starting(['json', 'yaml', 'wide', 'name']);
  if (['-n', '--namespace'].includes(previous))
    return inServer({}, async (session) => starting(await names(session, 'tenants')));
  if (previous.startsWith('-') || !takesObjects.has(name)) return [];
  const at = before.findIndex((word) => word === '-n' || word === '--namespace');
  const namespace = at === -1 ? undefined : before[at + 1];
  return inServer(namespace === undefined ? {} : { namespace }, async (session) => {
    const [kind, name_] = current.split('/');
    if (name_ !== undefined)
      return starting((await names(session, kind ?? '')).map((each) => `${kind}/${each}`));
    const positional = before.filter(
      (word, index) => !word.startsWith('-') && !(before[index - 1] ?? '').startsWith('-'),
    );
    const [given] = positional;
    if (given !== undefined && !given.includes('/')) return starting(await names(session, given));
    return starting((await session.kinds()).kinds.map(({ plural }) => plural));
  });
}

async function inServer(
  options: { readonly namespace?: string },
  work: (session: Session) => Promise<string[]>,
): Promise<string[]> {
  const session = await openSession({ ...options, timeout: answerMsMax });
  try {
    return await work(session);
  } finally {
    session.close();
  }
}

async function names(session: Session, word: string): Promise<string[]> {
  const kind = (await session.kinds()).find(word);
  const { rows } = await session.client.table(pathIn(kind, session.namespace));
  return rows.map(({ metadata }) => metadata.name);
}

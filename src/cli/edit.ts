import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { parse } from 'yaml';
import { type Draft } from '../client/client.js';
import { clientCommand } from './client-command.js';
import { CommandFailure } from './command-failure.js';
import { exitCodes } from './exit-codes.js';
import { pathIn } from './kind-lookup.js';
import { oneTarget } from './object-words.js';
import { formatValue, readable } from './print-objects.js';
import { describeError, exitCodeOf } from './report-failure.js';
import { inSession, type ClientOptions, type Session } from './session.js';
import { print, say } from './terminal.js';

export const editCommand = (): Command =>
  clientCommand('edit', 'change an object in an editor ($VISUAL, $EDITOR or vi)')
    .argument('<words...>', 'KIND NAME or KIND/NAME')
    .action((words: string[], options: ClientOptions) =>
      inSession(options, (session) => edit(session, words)),
    );

/** Nothing that was typed is lost: the file goes only when its contents are with the server, or are what they were. */
async function edit(session: Session, words: readonly string[]): Promise<void> {
  const { kind, name } = oneTarget(words, await session.kinds());
  const path = pathIn(kind, session.namespace);
  const label = `${kind.singular}/${name}`;
  const object = await session.client.get(path, name);
  const text = `# Save and leave to change ${label}; leave it as it is to change nothing.\n${await formatValue(readable(object), 'yaml')}\n`;
  const dir = mkdtempSync(join(tmpdir(), 'berth-edit-'));
  const file = join(dir, `${kind.singular}-${name}.yaml`);
  writeFileSync(file, text, { mode: 0o600 });
  try {
    await runEditor(file);
    const edited = readFileSync(file, 'utf8');
    if (edited === text) {
      say(`${label} unchanged`);
    } else {
      // The version that was read goes along, so that nobody's change in between is lost.
      const { resourceVersion } = object.metadata;
      await session.client.update(path, name, draftIn(edited, resourceVersion), {
        fieldManager: 'berth-edit',
        fieldValidation: 'Strict',
      });
      print(`${label} edited`);
    }
  } catch (error) {
    throw new CommandFailure(
      exitCodeOf(error),
      `${describeError(error, session.addressed)}; your text is kept in ${file}`,
      {
        cause: error,
      },
    );
  }
  rmSync(dir, { recursive: true, force: true });
}

function draftIn(text: string, resourceVersion: string): Draft {
  let value: unknown;
  try {
    value = parse(text);
  } catch (cause) {
    throw new CommandFailure(exitCodes.error, `not YAML: ${(cause as Error).message.trim()}`, { cause });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new CommandFailure(exitCodes.error, 'not an object with fields');
  const { metadata, ...rest } = value as { readonly metadata?: unknown };
  if (typeof metadata !== 'object' || metadata === null)
    throw new CommandFailure(exitCodes.error, 'metadata is missing');
  return { ...rest, metadata: { ...metadata, resourceVersion } };
}

/** The editor may be a command with options of its own, so a shell starts it. */
function runEditor(file: string): Promise<void> {
  const editor = process.env['VISUAL'] || process.env['EDITOR'] || 'vi';
  return new Promise((resolve, reject) => {
    const child = spawn('sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit' });
    child.once('error', reject);
    child.once('close', (code) =>
      code === 0
        ? resolve()
        : reject(
            new CommandFailure(exitCodes.error, `the editor (${editor}) ended with ${code ?? 'a signal'}`),
          ),
    );
  });
}

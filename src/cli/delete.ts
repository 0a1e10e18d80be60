import type { Command } from 'commander';
import { type BerthObject, isBerthError, type KindPath } from '../client/client.js';
import { formatDuration } from '../model/duration.js';
import { clientCommand } from './client-command.js';
import { usageFailure } from './command-failure.js';
import { within } from './deadline.js';
import { type ExitCode, exitCodes } from './exit-codes.js';
import { Failures } from './failures.js';
import { type FileOptions, filesOption } from './file-options.js';
import { followObject } from './follow-object.js';
import { pathIn } from './kind-lookup.js';
import { targetsOf } from './object-words.js';
import { choiceOption } from './option-values.js';
import { placedManifests } from './placed-manifests.js';
import { inSession, type Session } from './session.js';
import { print, say } from './terminal.js';

interface DeleteOptions extends Omit<FileOptions, 'filename'> {
  readonly filename?: readonly string[];
  readonly selector?: string;
  readonly all?: boolean;
  readonly wait: boolean;
  readonly cascade: 'background' | 'foreground' | 'orphan';
  readonly ignoreNotFound?: boolean;
  readonly dryRun?: boolean;
}

interface Doomed {
  readonly path: KindPath;
  readonly name: string;
  readonly label: string;
  /** Of the object that was selected, so that one of the same name made since is left alone. */
  readonly uid?: string;
}

// A tenant with much in it takes a while to go; whoever knows better says --timeout.
const waitMsUsual = 5 * 60_000;
const propagations = { background: 'Background', foreground: 'Foreground', orphan: 'Orphan' } as const;

export const deleteCommand = (): Command =>
  clientCommand('delete', 'delete objects: KIND NAME…, KIND/NAME…, KIND -l LABELS, or those of files')
    .argument('[words...]', 'KIND NAME… or KIND/NAME…')
    .option('-l, --selector <labels>', 'those with these labels')
    .option('--all', 'all of the kind in the namespace')
    .addOption(filesOption())
    .option('-R, --recursive', 'also directories in directories')
    .option('--wait', 'wait until they are gone (the default; 5m unless --timeout says otherwise)', true)
    .option('--no-wait', 'do not wait')
    .addOption(
      choiceOption('--cascade <how>', 'what becomes of what they own', Object.keys(propagations)).default(
        'background',
      ),
    )
    .option('--ignore-not-found', 'what is not there is no error')
    .option('--dry-run', 'change nothing')
    .action((words: string[], { timeout = waitMsUsual, ...options }: DeleteOptions) =>
      // Here --timeout is how long to wait for the end, not for each answer.
      inSession(options, (session) => deleteAll(session, words, options, timeout)),
    );

async function deleteAll(
  session: Session,
  words: readonly string[],
  options: DeleteOptions,
  waitMs: number,
): Promise<ExitCode> {
  const failures = new Failures();
  const doomed = await doomedBy(session, words, options, failures);
  const leaving: Doomed[] = [];
  for (const each of doomed) {
    try {
      const state = await deleteOne(session, each, options);
      if (state === 'leaving') leaving.push(each);
      else print(`${each.label} deleted${options.dryRun === true ? ' (dry run)' : ''}`);
    } catch (error) {
      if (!(options.ignoreNotFound === true && isBerthError(error, 'NotFound')))
        failures.add(each.label, error);
    }
  }
  if (!options.wait || options.dryRun === true) {
    for (const { label } of leaving)
      print(`${label} ${options.dryRun === true ? 'deleted (dry run)' : 'is being deleted'}`);
    return failures.exitCode;
  }
  const left = new Set(leaving);
  const end = await within(session.env, waitMs, async (signal) => {
    await Promise.all(
      leaving.map(async (each) => {
        await untilGone(session, each, signal);
        if (signal.aborted) return;
        left.delete(each);
        print(`${each.label} deleted`);
      }),
    );
  });
  if (end === 'done') return failures.exitCode;
  const names = [...left].map(({ label }) => label).join(', ');
  say(`error: timed out after ${formatDuration(waitMs)}: still being deleted: ${names}`);
  return exitCodes.timedOut;
}

async function doomedBy(
  session: Session,
  words: readonly string[],
  options: DeleteOptions,
  failures: Failures,
): Promise<Doomed[]> {
  const { filename, selector, all } = options;
  if (filename !== undefined) {
    if (words.length > 0 || selector !== undefined || all === true)
      throw usageFailure('-f names the objects itself; leave out kinds, names, -l and --all');
    const { manifests, problems } = await placedManifests(session, filename, options);
    for (const problem of problems) failures.tell(problem);
    return [...manifests].toReversed();
  }
  if (words.length === 0) throw usageFailure('what? KIND NAME…, KIND/NAME…, KIND -l LABELS or -f FILE');
  const targets = targetsOf(words, await session.kinds());
  const lists = targets.map(async ({ kind, names }): Promise<Doomed[]> => {
    const path = pathIn(kind, session.namespace);
    const labelled = (name: string): Doomed => ({ path, name, label: `${kind.singular}/${name}` });
    const isSelected = selector !== undefined || all === true;
    if (names.length > 0 && isSelected) throw usageFailure('names and -l or --all do not go together');
    if (names.length > 0) return names.map(labelled);
    if (!isSelected) throw usageFailure(`which ${kind.plural}? name them, select them with -l, or say --all`);
    const { items } = await session.client.list(path, { labelSelector: selector });
    if (items.length === 0) say(`no ${kind.plural} to delete`);
    return items.map(({ metadata }) => ({ ...labelled(metadata.name), uid: metadata.uid }));
  });
  return (await Promise.all(lists)).flat();
}

async function deleteOne(
  { client }: Session,
  { path, name, uid }: Doomed,
  { cascade, dryRun }: DeleteOptions,
): Promise<'gone' | 'leaving'> {
  const deleted = await client.delete(path, name, {
    propagation: propagations[cascade],
    dryRun,
    preconditions: uid === undefined ? undefined : { uid },
  });
  return deleted.isGone ? 'gone' : 'leaving';
}

/** An object made anew under the name is another one: the first is gone then. */
async function untilGone(session: Session, { path, name }: Doomed, signal: AbortSignal): Promise<void> {
  for await (const object of followObject(session, path, name, signal)) {
    if (isGone(object)) return;
  }
}

const isGone = (object: BerthObject | undefined): boolean => object?.metadata.deletionTimestamp === undefined;

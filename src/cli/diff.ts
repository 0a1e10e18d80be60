import type { Command } from 'commander';
import { createTwoFilesPatch } from 'diff';
import type { BerthObject } from '../client/client.js';
import { type Applied, applyManifest, withoutVersions } from './apply-manifest.js';
import { clientCommand } from './client-command.js';
import { CommandFailure } from './command-failure.js';
import { type ExitCode, exitCodes } from './exit-codes.js';
import { Failures } from './failures.js';
import { type FileOptions, withFileOptions } from './file-options.js';
import { checkSetName, inSet } from './object-set.js';
import { type PlacedManifest, placedManifests } from './placed-manifests.js';
import { formatValue, readable } from './print-objects.js';
import { describeError, exitCodeOf } from './report-failure.js';
import { inSession, type Session } from './session.js';
import { painted, print } from './terminal.js';

interface DiffOptions extends FileOptions {
  readonly forceConflicts?: boolean;
  readonly set?: string;
}

// Here 1 means that there are changes, so an error is told by another number.
const diffExitCodes = { same: 0, changed: 1, error: 2 } as const;

export const diffCommand = (): Command =>
  withFileOptions(
    clientCommand('diff', 'show what apply would change; exit code 1 if anything, 2 for an error'),
  )
    .option('--force-conflicts', 'as if fields that others own were taken over')
    .option('--set <name>', 'as apply --set would')
    .action((options: DiffOptions) =>
      inSession(options, async (session) => {
        try {
          return await diff(session, options);
        } catch (error) {
          if (exitCodeOf(error) !== exitCodes.error) throw error;
          throw new CommandFailure(diffExitCodes.error, describeError(error), { cause: error });
        }
      }),
    );

async function diff(session: Session, options: DiffOptions): Promise<ExitCode> {
  const { set } = options;
  if (set !== undefined) checkSetName(set);
  const { manifests: read, problems } = await placedManifests(session, options.filename, options);
  const manifests = set === undefined ? read : read.map((manifest) => inSet(manifest, set));
  const failures = new Failures();
  for (const problem of problems) failures.tell(problem);
  const force = options.forceConflicts === true;
  const tenantsToCome = new Set(manifests.filter(({ kind }) => kind === 'Tenant').map(({ name }) => name));
  let isChanged = false;
  for (const manifest of manifests) {
    try {
      const applied = await applyManifest(session.client, manifest, { dryRun: true, force, tenantsToCome });
      const patch = await patchOf(manifest, applied);
      if (patch === '') continue;
      isChanged = true;
      print(patch);
    } catch (error) {
      failures.add(`${manifest.where}: ${manifest.label}`, error);
    }
  }
  const { exitCode } = failures;
  if (exitCode !== exitCodes.done) return exitCode === exitCodes.error ? diffExitCodes.error : exitCode;
  return isChanged ? diffExitCodes.changed : diffExitCodes.same;
}

/** The unified diff from what is live to what apply would make of it; empty if nothing changes. */
async function patchOf(manifest: PlacedManifest, { before, after, change }: Applied): Promise<string> {
  if (change === 'unchanged') return '';
  const text = async (object: BerthObject | undefined): Promise<string> =>
    object === undefined ? '' : `${await formatValue(comparable(object, before), 'yaml')}\n`;
  // Where a dry run cannot be made, all of the manifest is new.
  const next = after === undefined ? `${await formatValue(manifest.body, 'yaml')}\n` : await text(after);
  const { namespace } = manifest.path;
  const name = namespace === undefined ? manifest.label : `${namespace}/${manifest.label}`;
  const patch = createTwoFilesPatch(`live/${name}`, `applied/${name}`, await text(before), next, '', '', {
    context: 3,
  });
  const [, ...lines] = patch.trimEnd().split('\n');
  return lines.map(coloured).join('\n');
}

/** What a new object would be given anew each time it is tried says nothing. */
function comparable(object: BerthObject, before: BerthObject | undefined): unknown {
  const shown = withoutVersions(readable(object));
  if (before !== undefined) return shown;
  const { uid: _, creationTimestamp: __, ...metadata } = shown.metadata;
  return { ...shown, metadata };
}

function coloured(line: string): string {
  if (line.startsWith('@@')) return painted('cyan', line, process.stdout);
  if (line.startsWith('+')) return painted('green', line, process.stdout);
  return line.startsWith('-') ? painted('red', line, process.stdout) : line;
}

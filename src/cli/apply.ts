import type { Command } from 'commander';
import type { BerthObject } from '../client/client.js';
import { applyManifest } from './apply-manifest.js';
import { clientCommand } from './client-command.js';
import { usageFailure } from './command-failure.js';
import type { ExitCode } from './exit-codes.js';
import { Failures } from './failures.js';
import { type FileOptions, withFileOptions } from './file-options.js';
import { outputOption } from './option-values.js';
import { type PlacedManifest, placedManifests } from './placed-manifests.js';
import { printObjects } from './print-objects.js';
import { pruneSet } from './prune-set.js';
import { inSession, type Session } from './session.js';
import { checkSetName, inSet } from './object-set.js';
import { print, say } from './terminal.js';

interface ApplyOptions extends FileOptions {
  readonly forceConflicts?: boolean;
  readonly dryRun?: boolean;
  readonly set?: string;
  readonly prune?: boolean;
  readonly output?: 'json' | 'yaml' | 'name';
}

export const applyCommand = (): Command =>
  withFileOptions(clientCommand('apply', 'make objects as files say, by server-side apply'))
    .option('--force-conflicts', 'take over fields that others own')
    .option('--dry-run', 'let the server check everything and change nothing')
    .option('--set <name>', 'count the objects to a set, by the label berth.dev/set')
    .option('--prune', 'delete objects of the set that are no longer in the files')
    .addOption(outputOption(['json', 'yaml', 'name']))
    .action((options: ApplyOptions) => inSession(options, (session) => apply(session, options)));

async function apply(session: Session, options: ApplyOptions): Promise<ExitCode> {
  const { set, dryRun = false } = options;
  if (options.prune === true && set === undefined)
    throw usageFailure('--prune needs --set NAME: it deletes only objects that were applied with that set');
  if (set !== undefined) checkSetName(set);
  const { manifests: read, problems } = await placedManifests(session, options.filename, options);
  const failures = new Failures();
  for (const problem of problems) failures.tell(problem);

  const manifests = set === undefined ? read : read.map((manifest) => inSet(manifest, set));
  const tenantsToCome = new Set(manifests.filter(({ kind }) => kind === 'Tenant').map(({ name }) => name));
  const results: BerthObject[] = [];
  for (const manifest of manifests) {
    try {
      const force = options.forceConflicts === true;
      const { after, change } = await applyManifest(session.client, manifest, {
        dryRun,
        force,
        tenantsToCome,
      });
      if (after !== undefined) results.push(after);
      tell(manifest, change, { ...options, isChecked: after !== undefined });
    } catch (error) {
      failures.add(`${manifest.where}: ${manifest.label}`, error);
    }
  }
  if (options.output === 'json' || options.output === 'yaml')
    await printObjects(results, options.output, manifests.length !== 1);
  if (options.prune === true && set !== undefined) {
    // A manifest that could not be read is not one that was removed.
    if (failures.isEmpty) await pruneSet(session, set, manifests, { dryRun, failures });
    else say('nothing is pruned after errors');
  }
  return failures.exitCode;
}

function tell(
  { label }: PlacedManifest,
  change: string,
  { output, dryRun, isChecked }: ApplyOptions & { isChecked: boolean },
): void {
  if (output === 'json' || output === 'yaml') return;
  if (output === 'name') return print(label);
  const note = isChecked ? ' (dry run)' : ' (dry run; not checked, its tenant is not there yet)';
  print(`${label} ${change}${dryRun === true ? note : ''}`);
}

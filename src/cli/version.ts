import { Command, Option } from 'commander';
import { packageVersion } from './package-version.js';

export const versionCommand = (): Command =>
  new Command('version')
    .description('print the version of berth and of Node')
    .addOption(new Option('-o, --output <format>', 'how to print it').choices(['json']))
    .action(({ output }: { output?: 'json' }) => {
      const versions = { berth: packageVersion(), node: process.versions.node };
      const line =
        output === 'json' ? JSON.stringify(versions) : `berth ${versions.berth} (node ${versions.node})`;
      process.stdout.write(`${line}\n`);
    });

import { type Command, Option } from 'commander';
import type { ClientOptions } from './session.js';

/** What commands that read manifests can be told. */
export interface FileOptions extends ClientOptions {
  readonly filename: readonly string[];
  readonly recursive?: boolean;
}

export const filesOption = (): Option =>
  new Option(
    '-f, --filename <file>',
    'a file, a directory or - for standard input; may be given several times',
  ).argParser((file: string, before: readonly string[] | undefined) => [...(before ?? []), file]);

export const withFileOptions = (command: Command): Command =>
  command
    .addOption(filesOption().makeOptionMandatory())
    .option('-R, --recursive', 'also directories in directories');

import { accessSync, constants, statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import type { RunEnd } from '../runner.js';

/** Whether there is such a program, looked up as a shell does. What is wrong with it otherwise. */
export function commandProblem(
  name: string,
  env: Readonly<Record<string, string>>,
  directory: string,
): RunEnd | undefined {
  if (name.includes('/')) return fileProblem(isAbsolute(name) ? name : join(directory, name));
  const folders = (env['PATH'] ?? '').split(':').map((folder) => (folder === '' ? directory : folder));
  if (folders.some((folder) => fileProblem(join(folder, name)) === undefined)) return undefined;
  return { reason: 'CommandNotFound', message: `${name} is in none of ${env['PATH'] ?? '(no PATH)'}` };
}

function fileProblem(path: string): RunEnd | undefined {
  try {
    if (!statSync(path).isFile()) return { reason: 'StartFailed', message: `${path} is not a file` };
  } catch {
    return { reason: 'CommandNotFound', message: `there is no ${path}` };
  }
  try {
    accessSync(path, constants.X_OK);
    return undefined;
  } catch {
    return { reason: 'StartFailed', message: `${path} is not executable` };
  }
}

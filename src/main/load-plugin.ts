import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { BerthError } from '../model/errors.js';
import { type Plugin, readPlugin } from '../propose/plugin.js';

/** Loads a module of custom filters and scores; what is wrong with it is said in one sentence. */
export async function loadPlugin(file: string): Promise<Plugin> {
  let module: unknown;
  try {
    module = await import(pathToFileURL(resolve(file)).href);
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    const message = existsSync(file) ? said : 'there is no such file';
    throw new BerthError('InvalidPlugin', `plugin ${file}: cannot be loaded: ${message}`, { cause: error });
  }
  return readPlugin(file, module);
}

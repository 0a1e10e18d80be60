import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { BerthError } from '../model/errors.js';
import { type Plugin, readPlugin } from '../propose/plugin.js';

/** Loads a module of custom filters and scores; what is wrong with it is said in one sentence. */
export async function loadPlugin(file: string): Promise<Plugin> {
  let module: unknown;
  let digest = '';
  try {
    module = await import(pathToFileURL(resolve(file)).href);
    digest = createHash('sha256').update(readFileSync(file)).digest('hex');
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    const message = existsSync(file) ? said : 'there is no such file';
    throw new BerthError('InvalidPlugin', `plugin ${file}: cannot be loaded: ${message}`, { cause: error });
  }
  return readPlugin({ source: file, digest }, module);
}

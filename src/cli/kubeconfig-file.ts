import { chmodSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { type Document, isMap, isSeq, parseDocument, type YAMLMap } from 'yaml';
import { serversExtension } from '../client/kubeconfig.js';
import { nearest } from '../model/nearest.js';
import { CommandFailure, usageFailure } from './command-failure.js';
import { exitCodes } from './exit-codes.js';

export interface Context {
  readonly name: string;
  readonly cluster: string;
  readonly user: string;
  readonly namespace: string;
}

// What a kubeconfig keeps that nobody may see over a shoulder or in a log, and certificates, which are only long.
const hidden = new Set([
  'client-key-data',
  'token',
  'password',
  'client-certificate-data',
  'certificate-authority-data',
]);

/** A kubeconfig that is looked at and changed as a file, keeping its comments and what we do not know of. */
export class KubeconfigFile {
  readonly #document: Document;

  constructor(readonly path: string) {
    let text: string;
    try {
      text = readFileSync(path, 'utf8');
    } catch (cause) {
      throw this.#wrong((cause as Error).message);
    }
    this.#document = parseDocument(text);
    const [error] = this.#document.errors;
    if (error !== undefined) throw this.#wrong(`not YAML: ${error.message.trim()}`);
    if (!isMap(this.#document.contents)) throw this.#wrong('not a kubeconfig: it holds no fields');
  }

  get currentContext(): string {
    const name = this.#document.get('current-context');
    if (typeof name !== 'string' || name === '') throw this.#wrong('current-context is not set');
    return name;
  }

  get contexts(): readonly Context[] {
    return this.#entries().map((entry) => {
      const text = (...path: string[]): string => {
        const value = entry.getIn(path);
        return typeof value === 'string' ? value : '';
      };
      return {
        name: text('name'),
        cluster: text('context', 'cluster'),
        user: text('context', 'user'),
        namespace: text('context', 'namespace'),
      };
    });
  }

  /** All of it but its secrets. */
  redacted(): unknown {
    return JSON.parse(
      JSON.stringify(this.#document.toJS(), (name, value: unknown) =>
        hidden.has(name) ? 'REDACTED' : value,
      ),
    ) as unknown;
  }

  use(name: string): void {
    this.#entry(name);
    this.#document.set('current-context', name);
    this.#save();
  }

  setNamespace(name: string, namespace: string): void {
    this.#entry(name).setIn(['context', 'namespace'], namespace);
    this.#save();
  }

  /** Names the servers of the current context's cluster; gives the name of the cluster. */
  setServers([first, ...others]: readonly string[]): string {
    const name = this.#entry(this.currentContext).getIn(['context', 'cluster']);
    const cluster = this.#entries('clusters').find((entry) => entry.get('name') === name);
    if (typeof name !== 'string' || cluster === undefined)
      throw this.#wrong(`context ${this.currentContext} names no cluster that is there`);
    cluster.setIn(['cluster', 'server'], first);
    const extensions: unknown = cluster.getIn(['cluster', 'extensions']);
    const kept = isSeq(extensions)
      ? extensions.items.filter((item) => !(isMap(item) && item.get('name') === serversExtension))
      : [];
    const named = { name: serversExtension, extension: { servers: [first, ...others] } };
    cluster.setIn(['cluster', 'extensions'], this.#document.createNode([...kept, named], { flow: true }));
    this.#save();
    return name;
  }

  #entries(field: 'contexts' | 'clusters' = 'contexts'): YAMLMap[] {
    const list = this.#document.get(field);
    return isSeq(list) ? list.items.filter((item) => isMap(item)) : [];
  }

  #entry(name: string): YAMLMap {
    const found = this.#entries().find((entry) => entry.get('name') === name);
    if (found !== undefined) return found;
    const names = this.contexts.map((context) => context.name);
    const near = nearest(name, names);
    const hint = near === undefined ? `there are ${names.join(', ') || 'none'}` : `did you mean ${near}?`;
    throw usageFailure(`kubeconfig ${this.path} has no context ${JSON.stringify(name)}; ${hint}`);
  }

  /** In one step, and readable by nobody it was not readable by before. */
  #save(): void {
    const temporary = `${this.path}.new`;
    const mode = statSync(this.path).mode & 0o777;
    writeFileSync(
      temporary,
      this.#document.toString({ lineWidth: 0, defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'PLAIN' }),
      { mode },
    );
    chmodSync(temporary, mode);
    renameSync(temporary, this.path);
  }

  #wrong(what: string): CommandFailure {
    return new CommandFailure(exitCodes.usage, `kubeconfig ${this.path}: ${what}`);
  }
}

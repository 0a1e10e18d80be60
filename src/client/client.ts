import type { Duplex } from 'node:stream';
import type { Env } from '../env/env.js';
import { realEnv } from '../env/real.js';
import { BerthError, isBerthError } from '../model/errors.js';
import type { BerthObject } from '../model/object.js';
import type {
  ClientOptions,
  CallOptions,
  Selection,
  ListOptions,
  TableOptions,
  WriteOptions,
  Patch,
  DeleteOptions,
  Deleted,
  Draft,
} from './client-options.js';
import { type KindPath, pathOf } from './kind-path.js';
import { readKubeconfig, type ServerAccess } from './kubeconfig.js';
import type { FollowEvent, FollowSource, WatchEvent, WholeList } from './list-then-watch.js';
import { type ObjectRow, type ObjectTable, rowIn, tableIn, tableMediaType } from './object-table.js';
import { retry, RetryBudget, type RetryPolicy, valueOf } from './retry-policy.js';
import { errorOfAnswer } from './status-error.js';
import { Transport, type TransportRequest } from './transport.js';

export { BerthError, isBerthError } from '../model/errors.js';
export type { BerthObject } from '../model/object.js';
export type {
  ClientOptions,
  CallOptions,
  Selection,
  ListOptions,
  TableOptions,
  WriteOptions,
  Patch,
  DeleteOptions,
  Deleted,
  Draft,
} from './client-options.js';
export type { KindPath } from './kind-path.js';
export type { Change } from './known-objects.js';
export { kubeconfigPath, readKubeconfig, type ServerAccess } from './kubeconfig.js';
export type { FollowEvent, WatchEvent, WholeList } from './list-then-watch.js';
export type { ObjectRow, ObjectTable, TableColumn } from './object-table.js';
export { type Attempt, RetryBudget, type RetryPolicy } from './retry-policy.js';

const patchTypes = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;

const pageSizeUsual = 500;
// Whoever reads what goes on ends it; this is as long as a timer takes.
const goesOnMsMax = 20 * 24 * 3_600_000;
// A list whose later pages have expired begins anew this often before the caller hears of it.
const listRestartsMax = 3;
// How long after its agreed end a watch is taken for dead.
const watchGraceMs = 10_000;

/**
 * Talks to the servers of one cell: to one of them, until it is gone, and then to the next. Reads are retried by the
 * policy; a write is sent once, and its error says what is known of it.
 */
export class BerthClient {
  readonly #env: Env;
  readonly #transport: Transport;
  readonly #access: ServerAccess;
  readonly #timeoutMs: number;
  readonly #watchMs: number;
  readonly #policy: RetryPolicy;
  /** The namespace of the context, for callers that have none of their own. */
  readonly namespace: string;

  constructor(options: ClientOptions) {
    this.#env = options.env ?? realEnv();
    this.#access = options.access;
    this.#transport = new Transport({
      access: options.access,
      env: this.#env,
      onWarning: options.onWarning,
    });
    this.#timeoutMs = options.timeoutMs ?? 30_000;
    this.#watchMs = options.watchMs ?? 300_000;
    this.#policy = {
      attemptsMax: 5,
      deadlineMs: 30_000,
      backoffMsMin: 100,
      backoffMsMax: 10_000,
      budget: new RetryBudget(100),
      ...options.retries,
    };
    this.namespace = options.access.namespace;
  }

  /** A client for the server of a kubeconfig: the one given, or that of $BERTH_CONFIG or $KUBECONFIG. */
  static async fromKubeconfig(
    path?: string,
    options: Omit<ClientOptions, 'access'> = {},
  ): Promise<BerthClient> {
    return new BerthClient({ ...options, access: await readKubeconfig({ path }) });
  }

  /** The server that the next request goes to. */
  get server(): string {
    return this.#transport.servers.current;
  }

  /** Ends all connections. Writes under way have an unknown outcome. */
  close(): void {
    this.#transport.close();
  }

  async get<T extends BerthObject = BerthObject>(
    kind: KindPath,
    name: string,
    options: CallOptions = {},
  ): Promise<T> {
    return (await this.read(pathOf(kind, name), options)) as T;
  }

  /** Asks the server something that it answers without keeping it, such as a review of access. */
  ask(path: string, question: unknown, options: CallOptions = {}): Promise<unknown> {
    return this.#write('POST', path, question, options);
  }

  /** Any document of the server: discovery, OpenAPI, its version. */
  read(path: string, options: CallOptions & { readonly query?: URLSearchParams } = {}): Promise<unknown> {
    return this.#read(path, options.query ?? new URLSearchParams(), options.signal);
  }

  /** A document of lines that goes on for as long as it takes, as they come: a log. */
  lines(path: string, query: URLSearchParams, signal?: AbortSignal): AsyncGenerator<string, void> {
    return this.#transport.lines({
      ...{ method: 'GET', path, query, signal },
      beginMs: this.#timeoutMs,
      timeoutMs: goesOnMsMax,
    });
  }

  /** A connection that goes on in both directions: a command beside a replica. */
  async upgrade(
    path: string,
    query: URLSearchParams,
    protocol: string,
    signal?: AbortSignal,
  ): Promise<Duplex> {
    // Most commands never need it.
    const { tryUpgrade } = await import('./upgrade.js');
    const wanted = { path: `${path}?${query.toString()}`, protocol, timeoutMs: this.#timeoutMs, signal };
    return this.#transport.servers.reach(
      ({ url, connectMsMax }) => tryUpgrade(this.#env, { ...this.#access, url }, { ...wanted, connectMsMax }),
      () => signal?.aborted !== true,
    );
  }

  /** All objects, at one version, read page by page. */
  async list<T extends BerthObject = BerthObject>(
    kind: KindPath,
    options: ListOptions = {},
  ): Promise<WholeList<T>> {
    return restarted(() => this.#listOnce<T>(kind, options));
  }

  /** All objects, or the one of a name, as the server shows them to people. */
  async table(
    kind: KindPath,
    { name, include = 'Metadata', ...options }: TableOptions & { readonly name?: string | undefined } = {},
  ): Promise<ObjectTable> {
    if (name !== undefined) {
      const query = new URLSearchParams({ includeObject: include });
      return tableIn(await this.#read(pathOf(kind, name), query, options.signal, tableMediaType));
    }
    return this.#wholeTable(kind, { ...options, include });
  }

  async create<T extends BerthObject = BerthObject>(
    kind: KindPath,
    object: Draft,
    options: WriteOptions = {},
  ): Promise<T> {
    return (await this.#write('POST', pathOf(kind), object, options)) as T;
  }

  /** Replaces an object. With its resourceVersion in it, only if nobody has changed it since. */
  async update<T extends BerthObject = BerthObject>(
    kind: KindPath,
    name: string,
    object: Draft,
    options: WriteOptions = {},
  ): Promise<T> {
    return (await this.#write('PUT', pathOf(kind, name, options.subresource), object, options)) as T;
  }

  async patch<T extends BerthObject = BerthObject>(
    kind: KindPath,
    name: string,
    patch: Patch,
    options: WriteOptions = {},
  ): Promise<T> {
    const isApply = patch.type === 'apply';
    const query = new URLSearchParams(isApply && patch.force === true ? { force: 'true' } : {});
    const asked = isApply ? { ...options, fieldManager: patch.fieldManager } : options;
    const path = pathOf(kind, name, options.subresource);
    return (await this.#write('PATCH', path, patch.body, asked, patchTypes[patch.type], query)) as T;
  }

  async delete<T extends BerthObject = BerthObject>(
    kind: KindPath,
    name: string,
    { propagation, preconditions, ...options }: DeleteOptions = {},
  ): Promise<Deleted<T>> {
    const body = {
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      ...(propagation === undefined ? {} : { propagationPolicy: propagation }),
      ...(preconditions === undefined ? {} : { preconditions }),
    };
    const answer = (await this.#write('DELETE', pathOf(kind, name), body, options)) as T;
    return answer.kind === 'Status' ? { isGone: true } : { isGone: false, object: answer };
  }

  /** One watch connection: changes after a version, until the server ends it. A cut connection is an error. */
  async *watch<T extends BerthObject = BerthObject>(
    kind: KindPath,
    options: Selection & { readonly after: number },
  ): AsyncGenerator<WatchEvent<T>, void> {
    for await (const line of this.#watchLines(kind, options, options.after)) {
      yield eventIn(line, (object) => object as T);
    }
  }

  /**
   * What there is, then every change, over any number of connections; see listThenWatch. It holds on to every
   * object it has told of. Abort the signal or leave the loop to end it; failed connections are told to `onFailure`.
   */
  async *listThenWatch<T extends BerthObject = BerthObject>(
    kind: KindPath,
    options: ListOptions & { readonly onFailure?: (error: unknown) => void } = {},
  ): AsyncGenerator<FollowEvent<T>, void> {
    yield* this.#follow(options, (selection) => ({
      list: (notOlderThan: number) => this.list<T>(kind, { ...selection, notOlderThan }),
      watch: (after: number) => this.watch<T>(kind, { ...selection, after }),
    }));
  }

  /** The same, of rows: what there is as the server shows it, then every change of it. */
  async *listThenWatchTable(
    kind: KindPath,
    options: TableOptions & { readonly onFailure?: (error: unknown) => void } = {},
  ): AsyncGenerator<FollowEvent<ObjectRow>, void> {
    yield* this.#follow(options, (selection) => ({
      list: async (notOlderThan: number) => {
        const { rows, version } = await this.#wholeTable(kind, { ...options, ...selection, notOlderThan });
        return { items: rows, version };
      },
      watch: (after: number) => this.#watchTable(kind, { ...options, ...selection, after }),
    }));
  }

  async *#follow<T extends BerthObject>(
    { onFailure, signal: asked, ...selection }: ListOptions & { onFailure?: (error: unknown) => void },
    sourceOf: (selection: ListOptions) => FollowSource<T>,
  ): AsyncGenerator<FollowEvent<T>, void> {
    const left = new AbortController();
    const signal = asked === undefined ? left.signal : AbortSignal.any([asked, left.signal]);
    const parts = { env: this.#env, policy: this.#policy, ...(onFailure === undefined ? {} : { onFailure }) };
    try {
      // Commands that ask once and end do not wait for it to be loaded.
      const { listThenWatch } = await import('./list-then-watch.js');
      yield* listThenWatch(parts, sourceOf({ ...selection, signal }), signal);
    } finally {
      left.abort();
    }
  }

  async *#watchTable(
    kind: KindPath,
    { include = 'Metadata', after, ...options }: TableOptions & { readonly after: number },
  ): AsyncGenerator<WatchEvent<ObjectRow>, void> {
    const form = { accept: tableMediaType, includeObject: include };
    for await (const line of this.#watchLines(kind, options, after, form)) yield eventIn(line, rowIn);
  }

  #watchLines(
    kind: KindPath,
    options: Selection,
    after: number,
    form?: { readonly accept: string; readonly includeObject: string },
  ): AsyncGenerator<string, void> {
    const query = selecting(options);
    query.set('watch', 'true');
    query.set('allowWatchBookmarks', 'true');
    query.set('resourceVersion', String(after));
    query.set('timeoutSeconds', String(Math.ceil(this.#watchMs / 1000)));
    if (form !== undefined) query.set('includeObject', form.includeObject);
    return this.#transport.lines({
      method: 'GET',
      path: pathOf(kind),
      query,
      accept: form?.accept,
      beginMs: this.#timeoutMs,
      timeoutMs: this.#watchMs + watchGraceMs,
      signal: options.signal,
    });
  }

  async #listOnce<T extends BerthObject>(kind: KindPath, options: ListOptions): Promise<WholeList<T>> {
    const items: T[] = [];
    let version = 0;
    for await (const page of this.#pages(kind, options)) {
      for (const item of (page as unknown as { readonly items: readonly T[] }).items) items.push(item);
      version = Number(page.metadata.resourceVersion);
    }
    return { items, version };
  }

  async #wholeTable(
    kind: KindPath,
    { include = 'Metadata', ...options }: TableOptions,
  ): Promise<ObjectTable & { readonly version: number }> {
    const form = { accept: tableMediaType, includeObject: include };
    const read = async (): Promise<ObjectTable & { readonly version: number }> => {
      const rows: ObjectRow[] = [];
      let columns: ObjectTable['columns'] = [];
      let version = 0;
      for await (const page of this.#pages(kind, options, form)) {
        const table = tableIn(page);
        if (columns.length === 0) ({ columns } = table);
        for (const row of table.rows) rows.push(row);
        version = Number(page.metadata.resourceVersion);
      }
      return { columns, rows, version };
    };
    return restarted(read);
  }

  async *#pages(
    kind: KindPath,
    options: ListOptions,
    form?: { readonly accept: string; readonly includeObject: string },
  ): AsyncGenerator<Page, void> {
    let continueToken = '';
    do {
      const query = selecting(options);
      query.set('limit', String(options.pageSize ?? pageSizeUsual));
      if (form !== undefined) query.set('includeObject', form.includeObject);
      if (continueToken !== '') query.set('continue', continueToken);
      else if ((options.notOlderThan ?? 0) > 0) query.set('resourceVersion', String(options.notOlderThan));
      const page = (await this.#read(pathOf(kind), query, options.signal, form?.accept)) as Page;
      yield page;
      continueToken = page.metadata.continue ?? '';
    } while (continueToken !== '');
  }

  async #read(
    path: string,
    query: URLSearchParams,
    signal: AbortSignal | undefined,
    accept?: string,
  ): Promise<unknown> {
    const request: TransportRequest = {
      method: 'GET',
      path,
      query,
      accept,
      timeoutMs: this.#timeoutMs,
      signal,
    };
    const operation = {
      id: this.#env.uuid(),
      attempt: () => this.#transport.send(request),
      // A read has no effect that could have happened.
      readBack: () => Promise.resolve({ kind: 'notApplied' } as const),
    };
    return valueOf(await retry(this.#env, this.#policy, operation, signal));
  }

  #write(
    method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body: unknown,
    options: WriteOptions,
    contentType = 'application/json',
    query = new URLSearchParams(),
  ): Promise<unknown> {
    if (options.fieldManager !== undefined) query.set('fieldManager', options.fieldManager);
    if (options.dryRun === true) query.set('dryRun', 'All');
    if (options.fieldValidation !== undefined) query.set('fieldValidation', options.fieldValidation);
    return this.#transport.send({
      method,
      path,
      query,
      contentType,
      body: JSON.stringify(body),
      timeoutMs: this.#timeoutMs,
      signal: options.signal,
    });
  }
}

/** What a page of a list and one of a table have in common. */
interface Page {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
}

/** Pages are read at the version of the first. Once that is too old to be read, half a list is none. */
async function restarted<T>(read: () => Promise<T>): Promise<T> {
  for (let restarts = 0; ; restarts += 1) {
    try {
      return await read();
    } catch (error) {
      if (!isBerthError(error, 'Expired') || restarts >= listRestartsMax) throw error;
    }
  }
}

function selecting({ labelSelector, fieldSelector }: Selection): URLSearchParams {
  return new URLSearchParams({
    ...(labelSelector === undefined ? {} : { labelSelector }),
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
  });
}

function eventIn<T extends BerthObject>(line: string, read: (object: unknown) => T): WatchEvent<T> {
  const { type, object } = parsedEvent(line);
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return { type, object: read(object) };
    case 'BOOKMARK':
      return { type, version: Number((object as T).metadata.resourceVersion) };
    case 'ERROR':
      throw errorOfAnswer(500, object);
    default:
      throw new BerthError(
        'InternalError',
        `the watch has an event of the unknown type ${JSON.stringify(type)}`,
      );
  }
}

function parsedEvent(line: string): { readonly type: unknown; readonly object: unknown } {
  try {
    return JSON.parse(line) as { type: unknown; object: unknown };
  } catch (cause) {
    throw new BerthError('InternalError', 'a line of the watch is not JSON', { cause });
  }
}

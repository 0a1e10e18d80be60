import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { vi } from 'vitest';
import { type Ran, run } from '../../testing/run-process.js';
import { scratchDirectory } from '../../testing/scratch.js';
import { realEnv } from '../env/real.js';
import { fenceContract } from '../model/fence-contract.js';
import type { Explanation } from '../model/explanation.js';
import type { Node } from '../model/kinds/node.js';
import type { Replica } from '../model/kinds/replica.js';
import type { Workload } from '../model/kinds/workload.js';
import { fenceKey } from '../model/records.js';
import { isTerminal } from '../model/stages.js';
import { LmdbStore } from '../store/lmdb.js';
import { type BerthProcess, program, startBerth } from './process.fixture.js';
import { type TestClient, testClient } from './test-client.fixture.js';

/** For conditions that come about by themselves: how long a busy machine may need. Nothing is asserted about speed. */
export const within = { timeout: 90_000, interval: 250 };

/** The least lease there is: after so long without a word nobody knows what runs on a node. */
export const shortLease = 'leaseSeconds: 15';

/** A fence that is short enough to wait for. W(1−ρ) ≥ D(1+ρ)+σ holds, as in the one of a usual cell. */
const shortFence = {
  ...fenceContract,
  ...{ permitSeconds: 6, graceSeconds: 3, killMarginSeconds: 1, stallSecondsMax: 4, windowSeconds: 10.2 },
};

/** A process that plays nodes. Stopped (SIGSTOP) it is a machine of which nothing is heard. */
export interface Played {
  readonly child: ChildProcess;
  silence(): void;
  wake(): void;
}

export interface WorkedOptions {
  readonly hasShortFence?: boolean;
  /** Where the cell is kept, if not in a directory of its own. */
  readonly store?: string;
  /** Where the server listens, if not at an address of its own. */
  readonly listen?: string;
  readonly flags?: readonly string[];
}

const apis = '/apis/berth.dev/v1';
const tenantPath = (tenant: string): string => `${apis}/namespaces/${tenant}`;

/**
 * The processes of a worked case: the server, processes that play nodes, and the program as a person runs it. What the test
 * started is ended with it.
 */
export class WorkedCell {
  readonly #scratch;
  // An address of its own: the port that a server had is free when it is started again, whatever else runs here.
  readonly #host = `127.0.${1 + (process.pid % 250)}.${1 + (Math.floor(process.pid / 250) % 250)}`;
  readonly #started = new Set<ChildProcess>();
  #server: BerthProcess | undefined;
  #client: TestClient | undefined;
  #port = '0';

  private constructor(
    name: string,
    private readonly options: WorkedOptions,
  ) {
    this.#scratch = scratchDirectory(name);
  }

  static async start(name: string, options: WorkedOptions = {}): Promise<WorkedCell> {
    const cell = new WorkedCell(name, options);
    if (options.hasShortFence === true) await cell.#writeShortFence();
    await cell.startServer();
    return cell;
  }

  get dir(): string {
    return this.#scratch.path;
  }

  get url(): string {
    return this.#server?.url ?? '';
  }

  get kubeconfig(): string {
    return this.#server?.kubeconfig ?? '';
  }

  // ---- processes -----------------------------------------------------------------------------------------

  /** Starts the server, again where it was if it was there before. */
  async startServer(): Promise<void> {
    const { dir } = this;
    const { store = `lmdb:${join(dir, 'store')}`, flags = [] } = this.options;
    const listen = this.options.listen ?? `${this.#host}:${this.#port}`;
    const server = await startBerth([
      ...['server', '--store', store, '--dir', join(dir, 'server'), '--listen', listen, ...flags],
    ]);
    this.#server = server;
    this.#port = new URL(server.url).port;
    this.#client = testClient(server.kubeconfig);
  }

  async endServer(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    this.#client?.close();
    this.#server?.child.kill(signal);
    await this.#server?.ended;
  }

  /** Plays the nodes of these pools (of a fleet file) in a process of their own. Their names begin with `node-`. */
  async play(name: string, spec: string): Promise<Played> {
    const { dir } = this;
    mkdirSync(join(dir, name), { recursive: true });
    const fleet = join(dir, name, 'fleet.yaml');
    const token = join(dir, name, 'token');
    writeFileSync(
      fleet,
      `apiVersion: berth.dev/v1\nkind: Fleet\nmetadata: { name: ${name} }\nspec:\n${spec}`,
    );
    writeFileSync(token, await this.ok('token create --identity hollow:node-'));
    const child = this.spawn(['hollow', '--fleet', fleet, '--token-file', token]);
    await saysReady(child);
    return {
      child,
      silence: () => void child.kill('SIGSTOP'),
      wake: () => void child.kill('SIGCONT'),
    };
  }

  /** Starts the program; it is killed when the cell is closed. */
  spawn(words: readonly string[]): ChildProcess {
    const child = spawn(process.execPath, [program, ...words], {
      env: { PATH: process.env['PATH'], BERTH_CONFIG: this.kubeconfig },
      stdio: ['ignore', 'pipe', 'pipe'],
      cwd: this.dir,
    });
    child.stderr?.resume();
    this.#started.add(child);
    return child;
  }

  async close(): Promise<void> {
    for (const child of this.#started) child.kill('SIGKILL');
    await this.endServer('SIGKILL');
    this.#scratch.remove();
  }

  // ---- what people do and see ----------------------------------------------------------------------------

  /** Runs the program to its end. */
  berth(words: string): Promise<Ran> {
    return run(process.execPath, [program, ...words.split(' '), '--config', this.kubeconfig]);
  }

  async ok(words: string): Promise<string> {
    const { status, stdout, stderr } = await this.berth(words);
    if (status !== 0) throw new Error(`berth ${words} ended with ${status}: ${stdout}${stderr}`);
    return stdout;
  }

  /** What `berth why` answers; it ends with 2 where something cannot be placed. */
  async why(target: string): Promise<Explanation> {
    const { stdout, stderr } = await this.berth(`why ${target} -o json`);
    if (stdout === '') throw new Error(stderr);
    return JSON.parse(stdout) as Explanation;
  }

  /** Creates an object, or changes its spec if it is there. */
  async put(plural: string, name: string, spec: object, tenant?: string): Promise<void> {
    const path = `${tenant === undefined ? apis : tenantPath(tenant)}/${plural}`;
    const body = JSON.stringify({ metadata: { name }, spec });
    const headers = { 'content-type': 'application/json' };
    const created = await this.#sent('POST', path, { headers, body });
    const { status, text } =
      created.status !== 409
        ? created
        : await this.#sent('PATCH', `${path}/${name}`, {
            headers: { 'content-type': 'application/merge-patch+json' },
            body: JSON.stringify({ spec }),
          });
    if (status >= 300) throw new Error(text);
  }

  service(name: string, replicas: number, more: object = {}): Promise<void> {
    return this.put('workloads', name, serviceSpec(replicas, more), 'default');
  }

  async get<T>(path: string): Promise<T> {
    const { status, text } = await this.#sent('GET', `${apis}/${path}`);
    if (status !== 200) throw new Error(text);
    return JSON.parse(text) as T;
  }

  workload(name: string, tenant = 'default'): Promise<Workload> {
    return this.get(`namespaces/${tenant}/workloads/${name}`);
  }

  /** The replicas of a workload by name, those included that have ended. */
  async replicas(workload: string, tenant = 'default'): Promise<Replica[]> {
    const { items } = await this.get<{ items: Replica[] }>(`namespaces/${tenant}/replicas`);
    return items.filter(({ spec }) => spec.workload === workload);
  }

  node(name: string): Promise<Node> {
    return this.get(`nodes/${name}`);
  }

  /** Waits until something is so. */
  async eventually(what: string, isSo: () => Promise<boolean>): Promise<void> {
    await vi.waitFor(async () => {
      if (!(await isSo())) throw new Error(`it never came to this: ${what}`);
    }, within);
  }

  async untilFresh(nodes: readonly string[]): Promise<void> {
    for (const name of nodes)
      await this.eventually(
        `${name} is fresh`,
        async () => (await this.node(name)).status?.reachability === 'Fresh',
      );
  }

  /** So many replicas of a workload serve, and no other may run. */
  async untilServing(workload: string, replicas: number): Promise<Replica[]> {
    const wanted = Array.from({ length: replicas }, () => 'Serving');
    await this.eventually(
      `${workload} is ${wanted.join()}`,
      async () => (await this.stages(workload)).join() === wanted.join(),
    );
    return (await this.replicas(workload)).filter(isLive);
  }

  /** The stages of those that have not ended, in the alphabet. */
  async stages(workload: string, tenant = 'default'): Promise<string[]> {
    const live = (await this.replicas(workload, tenant)).filter(isLive);
    return live.map(({ status }) => status?.stage ?? 'Queued').toSorted();
  }

  /** [S7] Accounts add up, no device or slot has two owners, nothing is bound twice. */
  async auditOrThrow(): Promise<void> {
    await this.ok('audit');
  }

  async #sent(method: string, path: string, options: Parameters<TestClient['send']>[2] = {}) {
    if (this.#client === undefined) throw new Error('there is no server');
    return this.#client.send(method, path, options);
  }

  /** As if the cell had been set up with it: lowering it later waits for the window that was there before. */
  async #writeShortFence(): Promise<void> {
    const store = await LmdbStore.open({ dir: join(this.dir, 'store'), env: realEnv() });
    const value = Buffer.from(JSON.stringify({ ...shortFence, operation: 'set-up' }));
    await store.transact({ guards: [], writes: [{ kind: 'put', key: fenceKey, value }] });
    await store.close();
  }
}

export const isLive = ({ status }: Replica): boolean => !isTerminal(status?.stage ?? 'Queued');

export const serviceSpec = (replicas: number, more: object = {}): object => ({
  type: 'Service',
  replicas,
  template: { run: { process: { command: ['x'] } }, resources: { cpu: '1' } },
  ...more,
});

const saysReady = (child: ChildProcess): Promise<void> =>
  new Promise((resolve, reject) => {
    child.stdout?.on('data', (chunk: Buffer) => {
      if (chunk.toString().includes('ready')) resolve();
    });
    child.once('close', (code, signal) => reject(new Error(`it ended with ${code ?? signal}`)));
  });

/** What can be compared to see that nothing was done to a replica. */
export const identityOf = ({ metadata, status }: Replica): string =>
  `${metadata.name} ${metadata.uid} on ${status?.binding?.node} started ${status?.executions ?? 0} times`;

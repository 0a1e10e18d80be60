import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { vi } from 'vitest';
import { allPids, readOr } from '../agent/process/proc.js';
import type { Replica } from '../model/kinds/replica.js';
import type { ProbeInput, ProbeOutput } from './isolation-probe.fixture.js';
import { type BerthProcess, startBerth } from './process.fixture.js';
import { type TestClient, testClient } from './test-client.fixture.js';

export const soon = { timeout: 60_000, interval: 100 };
const json = { 'content-type': 'application/json' };

/** Paths by what is there. */
export interface Entries {
  readonly files: string[];
  readonly directories: string[];
  readonly sockets: string[];
}

/** Everything below a directory, the directory included. */
export function entriesBelow(
  path: string,
  found: Entries = { files: [], directories: [], sockets: [] },
): Entries {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return found;
  if (stat.isSocket()) found.sockets.push(path);
  else if (!stat.isDirectory()) found.files.push(path);
  else {
    found.directories.push(path);
    for (const name of readdirSync(path)) entriesBelow(join(path, name), found);
  }
  return found;
}

/** The ports of loopback that these processes listen at. */
export function listeningPorts(pids: readonly number[]): number[] {
  const sockets = new Set(
    pids.flatMap((pid) =>
      readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
        try {
          return [readlinkSync(`/proc/${pid}/fd/${fd}`)];
        } catch {
          return [];
        }
      }),
    ),
  );
  const lines = ['tcp', 'tcp6'].flatMap((name) => (readOr(`/proc/net/${name}`) ?? '').split('\n').slice(1));
  return lines.flatMap((line) => {
    const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/);
    return state === '0A' && sockets.has(`socket:[${inode}]`)
      ? [parseInt(local.split(':')[1] ?? '', 16)]
      : [];
  });
}

/** `berth up` in a process of its own, and what a test asks of it. */
export class Cell {
  private constructor(
    readonly client: TestClient,
    readonly up: BerthProcess,
  ) {}

  static async start(...words: Parameters<typeof startBerth>): Promise<Cell> {
    const up = await startBerth(...words);
    return new Cell(testClient(up.kubeconfig), up);
  }

  async send(method: string, path: string, body?: object): Promise<string> {
    const { status, text } = await this.client.send(method, path, {
      ...(body !== undefined && { headers: json, body: JSON.stringify(body) }),
    });
    if (status >= 300) throw new Error(`${method} ${path}: ${text}`);
    return text;
  }

  async tenant(name: string): Promise<void> {
    await this.send('POST', '/apis/berth.dev/v1/tenants', {
      ...{ apiVersion: 'berth.dev/v1', kind: 'Tenant', metadata: { name } },
      spec: { limit: { cpu: '64' } },
    });
  }

  async run(
    tenant: string,
    name: string,
    command: readonly string[],
    template: object = {},
    spec: object = {},
  ) {
    const { run, ...more } = template as { readonly run?: object };
    await this.send('POST', `/apis/berth.dev/v1/namespaces/${tenant}/workloads`, {
      ...{ apiVersion: 'berth.dev/v1', kind: 'Workload', metadata: { name } },
      spec: { type: 'Service', template: { run: { process: { command }, ...run }, ...more }, ...spec },
    });
  }

  async replicas(tenant: string): Promise<readonly Replica[]> {
    const text = await this.send('GET', `/apis/berth.dev/v1/namespaces/${tenant}/replicas`);
    return (JSON.parse(text) as { items: Replica[] }).items;
  }

  async serving(tenant: string): Promise<Replica> {
    return vi.waitFor(async () => {
      const [found] = await this.replicas(tenant);
      if (found?.status?.stage !== 'Serving') throw new Error(`it is ${found?.status?.stage}`);
      return found;
    }, soon);
  }

  async stop(): Promise<void> {
    this.client.close();
    this.up.child.kill('SIGTERM');
    await this.up.ended;
  }
}

/** Has a probe that waits in a directory try something; what came of it. */
export async function resultIn(directory: string, input: ProbeInput): Promise<ProbeOutput> {
  writeFileSync(join(directory, 'input.json.new'), JSON.stringify(input), { mode: 0o644 });
  renameSync(join(directory, 'input.json.new'), join(directory, 'input.json'));
  const file = join(directory, 'output.json');
  await vi.waitUntil(() => existsSync(file), { ...soon, timeout: 120_000 });
  return JSON.parse(readFileSync(file, 'utf8')) as ProbeOutput;
}

/** What runs under a process, and it. */
export function treeOf(pid: number): number[] {
  const children = allPids().filter((each) => parentOf(each) === pid);
  return [pid, ...children.flatMap(treeOf)];
}
const parentOf = (pid: number): number =>
  Number(/^PPid:\s+(\d+)/m.exec(readOr(`/proc/${pid}/status`) ?? '')?.[1]);

import {
  CustomObjectsApi,
  KubeConfig,
  type KubernetesListObject,
  type KubernetesObject,
  makeInformer,
} from '@kubernetes/client-node';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { BerthClient, type BerthObject } from '../client/client.js';
import { writeKubeconfig } from './kubeconfig.js';
import { program as berth } from './process.fixture.js';

/** The values of priority classes by name, as an informer holds them or as the server has them. */
export type Held = Readonly<Record<string, number>>;

export interface PriorityClass extends KubernetesObject {
  readonly spec: { readonly value: number };
}

/** Informers of one client library, one for each address `base/INDEX`. */
export interface Informers {
  held(): Promise<readonly Held[]>;
  stop(): Promise<void>;
}

const root = fileURLToPath(new URL('../../../', import.meta.url));
const python = join(root, '.tools/python/bin/python');
const goInformers = join(root, '.tools/client-go-informers');
// The same condition as in the Makefile, which builds the informers.
const hasGo = /go1\.(2[3-9]|[3-9]\d)/.test(spawnSync('go', ['version'], { encoding: 'utf8' }).stdout ?? '');
const withoutGo = hasGo ? '' : ' (left out: there is no Go 1.23 or later on this machine)';

export const path = '/apis/berth.dev/v1/priorityclasses';
const group = { group: 'berth.dev', version: 'v1', plural: 'priorityclasses' };

function clientNode(base: string, count: number): Informers {
  const informers = Array.from({ length: count }, (_, index) => {
    const config = new KubeConfig();
    config.loadFromOptions({
      clusters: [{ name: 'c', server: `${base}/${index}`, skipTLSVerify: true }],
      users: [{ name: 'u' }],
      contexts: [{ name: 'x', cluster: 'c', user: 'u' }],
      currentContext: 'x',
    });
    const api = config.makeApiClient(CustomObjectsApi);
    const list = async (): Promise<KubernetesListObject<PriorityClass>> =>
      (await api.listClusterCustomObject(group)) as KubernetesListObject<PriorityClass>;
    const informer = makeInformer(config, path, list);
    let isStopped = false;
    // As its documentation says: an informer whose watch failed is started again.
    informer.on('error', () => void setTimeout(() => !isStopped && void informer.start(), 50));
    void informer.start();
    return {
      held: (): Held =>
        Object.fromEntries(informer.list().map(({ metadata, spec }) => [metadata?.name ?? '', spec.value])),
      stop: () => {
        isStopped = true;
        return informer.stop();
      },
    };
  });
  return {
    held: () => Promise.resolve(informers.map((informer) => informer.held())),
    stop: async () => void (await Promise.all(informers.map((informer) => informer.stop()))),
  };
}

/** A program that prints what its informers hold for each line that it reads. */
const program =
  (command: string, before: readonly string[] = [], environment: Readonly<Record<string, string>> = {}) =>
  (base: string, count: number): Informers => {
    if (!existsSync(command)) throw new Error(`${command} is not there: make test-setup makes it`);
    const child = spawn(command, [...before, base, String(count)], {
      stdio: 'pipe',
      env: { ...process.env, ...environment },
    });
    const ended = new Promise((resolve) => child.once('close', resolve));
    let complained = '';
    child.stderr.on('data', (chunk: Buffer) => (complained = (complained + chunk.toString()).slice(-2_000)));
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    return {
      held: async () => {
        child.stdin.write('\n');
        const { value } = (await lines.next()) as { value: string | undefined };
        if (value === undefined) throw new Error(`${command} has ended: ${complained}`);
        return JSON.parse(value) as Held[];
      },
      stop: async () => {
        child.kill('SIGKILL');
        await ended;
      },
    };
  };

export const clients: readonly {
  readonly name: string;
  readonly isThere: boolean;
  readonly start: (base: string, count: number) => Informers;
}[] = [
  { name: '@kubernetes/client-node', isThere: true, start: clientNode },
  {
    name: 'the Python client',
    isThere: true,
    start: program(python, [join(root, 'testing/client-python/informers.py')]),
  },
  { name: `client-go${withoutGo}`, isThere: hasGo, start: program(goInformers) },
  {
    name: `client-go with lists over watches${withoutGo}`,
    isThere: hasGo,
    start: program(goInformers, [], { KUBE_FEATURE_WatchListClient: 'true' }),
  },
];

interface Tls {
  readonly ca: Buffer;
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** Berth's own client, one for each list in `told`, in which it notes what it is told as type, name and value. */
export function berthClients(base: string, told: string[][], { ca, cert, key }: Tls): Informers {
  const stop = new AbortController();
  const informers = told.map((lines, index) => {
    const pem = { ca: ca.toString(), cert: cert.toString(), key: key.toString() };
    const access = { url: `${base}/${index}`, namespace: 'default', token: undefined, ...pem };
    const client = new BerthClient({ access });
    const held = new Map<string, number>();
    const following = (async (): Promise<void> => {
      for await (const event of client.listThenWatch<BerthObject & PriorityClass>(group, {
        signal: stop.signal,
      })) {
        if (event.type === 'SYNCED') continue;
        const { metadata, spec } = event.object;
        lines.push(`${event.type} ${metadata.name} ${spec.value}`);
        if (event.type === 'DELETED') held.delete(metadata.name);
        else held.set(metadata.name, spec.value);
      }
      client.close();
    })();
    return { held, following };
  });
  return {
    held: () => Promise.resolve(informers.map(({ held }) => Object.fromEntries(held))),
    stop: async () => {
      stop.abort();
      await Promise.all(informers.map(({ following }) => following));
    },
  };
}

/** `berth get -w`, one for each list in `printed`, in which the lines are noted that it prints. */
export function berthCommands(
  base: string,
  printed: string[][],
  {
    dir,
    ca,
    cert,
    key,
  }: { readonly dir: string; readonly ca: Buffer; readonly cert: Buffer; readonly key: Buffer },
): Pick<Informers, 'stop'> {
  const children = printed.map((lines, index) => {
    const kubeconfig = join(dir, `kubeconfig-${index}`);
    writeKubeconfig(kubeconfig, {
      ...{ server: `${base}/${index}`, ca: ca.toString() },
      ...{ certificate: cert.toString(), key: key.toString() },
    });
    const child = spawn(process.execPath, [berth, 'get', 'priorityclasses', '-w', '-o', 'name'], {
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { PATH: process.env['PATH'], BERTH_CONFIG: kubeconfig },
    });
    createInterface(child.stdout).on('line', (line) => lines.push(line));
    return { child, ended: new Promise((resolve) => child.once('close', resolve)) };
  });
  return {
    stop: async () => {
      for (const { child } of children) child.kill('SIGKILL');
      await Promise.all(children.map(({ ended }) => ended));
    },
  };
}

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Podman {
  readonly socketPath: string;
  /** An image with a shell, at a registry on this machine; `missing` is not there. */
  readonly image: string;
  readonly missing: string;
  /** Ends the service and starts it again; containers go on. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

const busybox = '/bin/busybox';
const applets = [
  'sh',
  'cat',
  'echo',
  'sleep',
  'id',
  'env',
  'tar',
  'mkdir',
  'chmod',
  'mv',
  'tail',
  'dd',
  'stty',
  'true',
];

/** A Podman of the test's own: storage, settings and registry in a directory, nothing from outside. */
export async function startPodman(): Promise<Podman> {
  // Not beside the tests: the path of a socket may not be long.
  const dir = mkdtempSync(join(tmpdir(), 'podman-'));
  const { server, port } = await startRegistry(layerIn(dir));
  const settings = writeSettings(dir, port);
  const socketPath = join(dir, 'podman.sock');
  let service: ChildProcess | undefined;
  const start = async (): Promise<void> => {
    rmSync(socketPath, { force: true });
    service = spawn('podman', ['system', 'service', '--time', '0', `unix://${socketPath}`], {
      env: { ...process.env, ...settings },
      stdio: 'ignore',
      // Its monitors leave a mark where they run when a container is out of memory.
      cwd: dir,
    });
    for (let waits = 0; !existsSync(socketPath); waits++) {
      if (waits > 600 || service.exitCode !== null) throw new Error('podman system service does not start');
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  const end = async (): Promise<void> => {
    const ended = new Promise((resolve) => service?.once('close', resolve));
    service?.kill('SIGTERM');
    await ended;
  };
  await start();
  return {
    socketPath,
    image: `127.0.0.1:${port}/app:1`,
    missing: `127.0.0.1:${port}/app:none`,
    restart: async () => {
      await end();
      await start();
    },
    stop: async () => {
      const all = { env: { ...process.env, ...settings }, stdio: 'ignore' } as const;
      execFileSync('podman', ['rm', '--force', '--all', '--time', '0'], all);
      await end();
      endMonitors(dir);
      server.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** Podman keeps a monitor for minutes after each exec, which would make its directories again when it ends. */
function endMonitors(dir: string): void {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      if (line.includes('conmon') && line.includes(dir)) process.kill(Number(pid), 'SIGKILL');
    } catch {
      // It has ended by itself meanwhile.
    }
  }
}

/** One layer: busybox and names for what of it is used. */
function layerIn(dir: string): Buffer {
  const root = join(dir, 'root');
  mkdirSync(join(root, 'bin'), { recursive: true });
  mkdirSync(join(root, 'tmp'), { mode: 0o777 });
  cpSync(busybox, join(root, 'bin/busybox'));
  for (const name of applets) symlinkSync('busybox', join(root, 'bin', name));
  execFileSync('chmod', ['1777', join(root, 'tmp')]);
  execFileSync('tar', ['-C', root, '--owner=0', '--group=0', '-cf', join(dir, 'layer.tar'), '.']);
  return readFileSync(join(dir, 'layer.tar'));
}

function writeSettings(dir: string, port: number): Record<string, string> {
  const files = {
    CONTAINERS_CONF: [
      '[engine]',
      'runtime = "runc"',
      'cgroup_manager = "cgroupfs"',
      'events_logger = "file"',
      'lock_type = "file"',
      `tmp_dir = "${join(dir, 'tmp')}"`,
    ],
    CONTAINERS_STORAGE_CONF: [
      '[storage]',
      'driver = "vfs"',
      `runroot = "${join(dir, 'run')}"`,
      `graphroot = "${join(dir, 'graph')}"`,
    ],
    CONTAINERS_REGISTRIES_CONF: ['[[registry]]', `location = "127.0.0.1:${port}"`, 'insecure = true'],
  };
  return Object.fromEntries(
    Object.entries(files).map(([name, lines]) => {
      const path = join(dir, `${name}.conf`);
      writeFileSync(path, `${lines.join('\n')}\n`);
      return [name, path];
    }),
  );
}

const digestOf = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/** As much of a registry as a pull needs: one image of one layer, and a refusal for everything else. */
async function startRegistry(layer: Buffer): Promise<{ server: Server; port: number }> {
  const manifestType = 'application/vnd.oci.image.manifest.v1+json';
  const config = Buffer.from(
    JSON.stringify({
      ...{ architecture: process.arch === 'x64' ? 'amd64' : process.arch, os: 'linux' },
      config: { Env: ['PATH=/bin'], Cmd: ['/bin/sh'] },
      rootfs: { type: 'layers', diff_ids: [digestOf(layer)] },
    }),
  );
  const part = (bytes: Buffer, mediaType: string) => ({
    mediaType,
    digest: digestOf(bytes),
    size: bytes.length,
  });
  const manifest = Buffer.from(
    JSON.stringify({
      ...{ schemaVersion: 2, mediaType: manifestType },
      config: part(config, 'application/vnd.oci.image.config.v1+json'),
      layers: [part(layer, 'application/vnd.oci.image.layer.v1.tar')],
    }),
  );
  const found = new Map<string, { readonly type: string; readonly bytes: Buffer }>([
    ['/v2/', { type: 'application/json', bytes: Buffer.from('{}') }],
    ['/v2/app/manifests/1', { type: manifestType, bytes: manifest }],
    [`/v2/app/manifests/${digestOf(manifest)}`, { type: manifestType, bytes: manifest }],
    ...[config, layer].map(
      (bytes) => [`/v2/app/blobs/${digestOf(bytes)}`, { type: 'application/octet-stream', bytes }] as const,
    ),
  ]);
  const server = createServer((request, response) => {
    const answer = found.get(request.url ?? '');
    if (answer === undefined) {
      response.writeHead(404, { 'content-type': 'application/json' });
      response.end('{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}');
      return;
    }
    response.writeHead(200, { 'content-type': answer.type, 'docker-content-digest': digestOf(answer.bytes) });
    response.end(request.method === 'HEAD' ? undefined : answer.bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, port: (server.address() as AddressInfo).port };
}

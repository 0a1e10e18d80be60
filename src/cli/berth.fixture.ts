import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Ran } from '../../testing/run-process.js';
import { startServer, type TestServer } from '../main/running.fixture.js';

export const program = fileURLToPath(new URL('./berth.js', import.meta.url));

export interface RunOptions {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** Starts the program with nothing of this shell's settings but PATH. */
export function startBerth(words: readonly string[], { input = '', env = {}, cwd }: RunOptions = {}) {
  const child: ChildProcess = spawn(process.execPath, [program, ...words], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(cwd === undefined ? {} : { cwd }),
  });
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(input);
  const ended = new Promise<Ran>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => resolve({ status, stdout, stderr }));
  });
  return { child, ended, printed: () => stdout };
}

export interface Cli {
  readonly server: TestServer;
  /** A directory for files of the test, and where commands run. */
  readonly dir: string;
  /** Runs a command line, split at spaces, or words as they are. */
  run(words: string | readonly string[], options?: RunOptions): Promise<Ran>;
  /** The same for a command that must succeed; gives what it printed. */
  ok(words: string | readonly string[], options?: RunOptions): Promise<string>;
  start(words: string | readonly string[], options?: RunOptions): ReturnType<typeof startBerth>;
  write(name: string, text: string): string;
  close(): Promise<void>;
}

const split = (words: string | readonly string[]): readonly string[] =>
  typeof words === 'string' ? words.split(' ') : words;

/** A server, and the program run against it as people do: each command in a process of its own. */
export async function startCli(): Promise<Cli> {
  const server = await startServer();
  const dir = join(server.dir, 'here');
  mkdirSync(dir);
  const started: ChildProcess[] = [];
  const start: Cli['start'] = (words, options = {}) => {
    const env = { BERTH_CONFIG: server.kubeconfig, ...options.env };
    const running = startBerth(split(words), { cwd: dir, ...options, env });
    started.push(running.child);
    return running;
  };
  const run: Cli['run'] = (words, options) => start(words, options).ended;
  return {
    server,
    dir,
    start,
    run,
    ok: async (words, options) => {
      const ran = await run(words, options);
      if (ran.status !== 0)
        throw new Error(`berth ${String(words)} ended with ${ran.status}: ${ran.stdout}${ran.stderr}`);
      return ran.stdout;
    },
    write: (name, text) => {
      const path = join(dir, name);
      writeFileSync(path, text);
      return path;
    },
    close: async () => {
      for (const child of started) child.kill('SIGKILL');
      const { defects } = server;
      await server.dispose();
      if (defects.length > 0) throw new Error(`the server met its own defects: ${String(defects[0])}`);
    },
  };
}

export const workloadYaml = (name: string, replicas: number, namespace = 'default'): string => `
apiVersion: berth.dev/v1
kind: Workload
metadata: { name: ${name}, namespace: ${namespace}, labels: { app: ${name} } }
spec:
  type: Service
  replicas: ${replicas}
  template: { run: { process: { command: [./${name}] } } }
`;

export const tenantYaml = (name: string): string => `
apiVersion: berth.dev/v1
kind: Tenant
metadata: { name: ${name} }
spec: { limit: { cpu: "64" } }
`;

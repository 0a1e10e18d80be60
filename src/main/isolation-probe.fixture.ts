import {
  accessSync,
  constants,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';

/** What a job that means harm tries. Its text also runs by `node -e`: it imports nothing of Berth. */
export interface ProbeInput {
  readonly files: readonly string[];
  readonly directories: readonly string[];
  readonly sockets: readonly string[];
  readonly pids: readonly number[];
  readonly ports: readonly number[];
  readonly paths: readonly string[];
}

export interface ProbeOutput {
  readonly uid: number;
  readonly umask: number;
  readonly env: Readonly<Record<string, string>>;
  /** What the kernel says of its rights, by name: CapEff, NoNewPrivs and the like. */
  readonly rights: Readonly<Record<string, string>>;
  /** The files that it was started with open. */
  readonly opened: readonly string[];
  /** By attempt: `done`, or the code of what refused it. */
  readonly attempts: Readonly<Record<string, string>>;
  /** What ports answered, by URL. */
  readonly answers: Readonly<Record<string, { readonly status: number; readonly text: string }>>;
}

const { O_RDONLY, O_WRONLY, O_NONBLOCK, W_OK } = constants;
const opened = readdirSync('/proc/self/fd').flatMap((fd) => {
  try {
    return [readlinkSync(`/proc/self/fd/${fd}`)];
  } catch {
    return [];
  }
});
const attempts: Record<string, string> = {};
const answers: Record<string, { status: number; text: string }> = {};

function attempt(name: string, act: () => void): void {
  try {
    act();
    attempts[name] = 'done';
  } catch (error) {
    attempts[name] = (error as NodeJS.ErrnoException).code ?? String(error);
  }
}

function readMemory(pid: number): void {
  const [first = ''] = readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n');
  const [start = '0'] = first.split('-');
  readSync(openSync(`/proc/${pid}/mem`, 'r'), Buffer.alloc(16), 0, 16, BigInt(`0x${start}`));
}

const reachSocket = (path: string): Promise<void> =>
  new Promise((resolve) => {
    const socket = connect(path);
    const note = (outcome: string) => (): void => {
      attempts[`connect ${path}`] = outcome;
      socket.destroy();
      resolve();
    };
    socket.once('connect', note('done'));
    socket.once('error', (error: NodeJS.ErrnoException) => note(error.code ?? error.message)());
  });

const ask = (url: string): Promise<void> =>
  new Promise((resolve) => {
    const options = { rejectUnauthorized: false, timeout: 5_000, agent: false as const };
    const request = url.startsWith('https:') ? httpsRequest(url, options) : httpRequest(url, options);
    request.once('error', () => resolve());
    request.once('timeout', () => request.destroy());
    request.once('response', (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.once('close', () => {
        answers[url] = { status: response.statusCode ?? 0, text };
        resolve();
      });
    });
    request.end();
  });

async function probe({ files, directories, sockets, pids, ports, paths }: ProbeInput): Promise<ProbeOutput> {
  for (const path of files) {
    attempt(`read ${path}`, () => openSync(path, O_RDONLY | O_NONBLOCK));
    attempt(`write ${path}`, () => openSync(path, O_WRONLY | O_NONBLOCK));
  }
  for (const path of directories) {
    attempt(`list ${path}`, () => readdirSync(path));
    attempt(`change ${path}`, () => accessSync(path, W_OK));
  }
  for (const pid of pids) {
    for (const name of ['environ', 'cmdline', 'maps'])
      attempt(`read /proc/${pid}/${name}`, () => readFileSync(`/proc/${pid}/${name}`));
    for (const name of ['cwd/', 'root/', 'fd/'])
      attempt(`list /proc/${pid}/${name}`, () => readdirSync(`/proc/${pid}/${name}`));
    attempt(`read memory of ${pid}`, () => readMemory(pid));
    attempt(`signal ${pid}`, () => process.kill(pid, 0));
    attempt(`signal group ${pid}`, () => process.kill(-pid, 0));
  }
  await Promise.all(sockets.map(reachSocket));
  for (const port of ports)
    await Promise.all(
      paths.flatMap((path) => ['http', 'https'].map((scheme) => ask(`${scheme}://127.0.0.1:${port}${path}`))),
    );
  const env = Object.fromEntries(Object.entries(process.env).map(([name, value = '']) => [name, value]));
  const lines = readFileSync('/proc/self/status', 'utf8').matchAll(
    /^(Cap\w+|NoNewPrivs|Groups):[ \t]*(.*?)[ \t]*$/gm,
  );
  const rights = Object.fromEntries([...lines].map(([, name = '', value = '']) => [name, value]));
  return { uid: process.getuid?.() ?? -1, umask: process.umask(), env, rights, opened, attempts, answers };
}

// It waits in its working directory for what it is to try, and leaves there what came of it.
while (!existsSync('input.json')) await new Promise((resolve) => setTimeout(resolve, 50));
const output = await probe(JSON.parse(readFileSync('input.json', 'utf8')) as ProbeInput);
writeFileSync('output.json.new', JSON.stringify(output));
renameSync('output.json.new', 'output.json');
setInterval(() => undefined, 60_000);

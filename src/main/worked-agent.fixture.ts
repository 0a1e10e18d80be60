import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../testing/free-port.js';
import { endSupervisor } from './process.fixture.js';
import type { WorkedCell } from './worked.fixture.js';

/** A real agent, which runs real processes. */
export interface WorkedAgent {
  /** Starts it again where it was. Whether it is heard is for the test to see. */
  start(): void;
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  /** Ends it, its supervisor and all that runs there. */
  close(): Promise<void>;
}

/** Has this machine join the cell under a name; `servers` are their addresses. */
export async function startAgent(cell: WorkedCell, node: string, servers: string): Promise<WorkedAgent> {
  // Short: a socket is in it.
  const home = mkdtempSync(join(tmpdir(), 'berth-worked-'));
  chmodSync(home, 0o711);
  const file = (name: string, text: string): string => {
    writeFileSync(join(home, name), text);
    return join(home, name);
  };
  const token = file('token', await cell.ok(`token create --join --node ${node}`));
  // Several are on one machine here, and what runs on them writes down that it ran.
  const runAs = process.getuid?.() === 0 ? ', runAs: root' : '';
  const spec = `{ metrics: "127.0.0.1:${await freePort()}"${runAs} }`;
  const config = file(
    'config.yaml',
    `apiVersion: berth.dev/v1\nkind: AgentConfig\nmetadata: { name: ${node} }\nspec: ${spec}\n`,
  );
  const dir = join(home, 'agent');
  let child: ChildProcess | undefined;
  const start = (): void => {
    child = cell.spawn([
      ...['agent', '--server', servers, '--token-file', token, '--dir', dir, '--name', node],
      ...['--config', config],
    ]);
    child.stdout?.resume();
  };
  const end = async (signal: 'SIGKILL' | 'SIGTERM'): Promise<void> => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  };
  start();
  return {
    ...{ start, end },
    close: async () => {
      await end('SIGKILL');
      endSupervisor(dir);
      rmSync(home, { recursive: true, force: true });
    },
  };
}

import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../testing/free-port.js';
import { type Cli, program, startCli, workloadYaml } from './berth.fixture.js';

// Written when a process ends: processor time, which depends little on what else the machine does.
const hook = `
const { appendFileSync } = require('node:fs');
process.on('exit', () => {
  const { user, system } = process.cpuUsage();
  appendFileSync(process.env.CPU_FILE, user + system + '\\n');
});`;

describe('berth, as a program', () => {
  let cli: Cli;
  beforeAll(async () => {
    cli = await startCli();
  });
  afterAll(() => cli.close());

  it('takes little more processor time than Node alone', async () => {
    const required = cli.write('hook.cjs', hook);
    const cpuMs = async (words: readonly string[], file: string): Promise<void> => {
      const env = {
        ...{ PATH: process.env['PATH'], BERTH_CONFIG: cli.server.kubeconfig, CPU_FILE: file },
        NODE_OPTIONS: `--require ${required}`,
      };
      const child = spawn(process.execPath, words, { env, stdio: 'ignore' });
      await new Promise((resolve) => child.once('close', resolve));
    };
    const bare = { name: 'bare', words: ['-e', '0'], timesMax: 1 };
    // Measured: 2.2 times as much for help, 5.4 times for the others. Half of that is TLS: Node reads its own root
    // certificates (18 ms) also where it is given another CA.
    const commands = [
      { name: 'help', words: [program, '--help'], timesMax: 4 },
      { name: 'version', words: [program, 'version'], timesMax: 8 },
      { name: 'get', words: [program, 'get', 'tenants'], timesMax: 8 },
    ];
    const fileOf = (name: string): string => join(cli.dir, `cpu-${name}`);
    for (let round = 0; round < 6; round += 1)
      for (const { name, words } of [bare, ...commands]) await cpuMs(words, fileOf(name));
    const leastOf = (name: string): number =>
      Math.min(...readFileSync(fileOf(name), 'utf8').trim().split('\n').map(Number));
    const bareTime = leastOf(bare.name);
    for (const { name, timesMax } of commands) expect(leastOf(name) / bareTime, name).toBeLessThan(timesMax);
  });

  it('says in one line that no server answers, at which address, from which file, and what to do', async () => {
    const url = `https://127.0.0.1:${await freePort()}`;
    const config = readFileSync(cli.server.kubeconfig, 'utf8').replace(cli.server.url, url);
    mkdirSync(join(cli.dir, 'berth-data'));
    writeFileSync(join(cli.dir, 'berth-data/kubeconfig'), config);
    for (const words of ['get tenants', 'delete wl x', 'info', 'wait wl/x --for delete']) {
      const ran = await cli.run(words, { env: { BERTH_CONFIG: '' } });
      expect(ran, words).toMatchObject({ status: 69, stdout: '' });
      expect(ran.stderr).toMatch(
        new RegExp(
          `^error: no server answers at ${url} \\(from berth-data/kubeconfig\\): connection refused; start one with: berth up\\n$`,
        ),
      );
    }
  });

  it('ends with 77 where the server does not know us or we may not', async () => {
    const viewer = await cli.server.kubeconfigFor({ kind: 'viewer' });
    const forbidden = await cli.run('apply -f -', {
      input: workloadYaml('x', 1),
      env: { BERTH_CONFIG: viewer },
    });
    expect(forbidden).toMatchObject({ status: 77, stdout: '' });
    expect(forbidden.stderr).toMatch(/^error: standard input:2: workload\/x: .*viewer may not do this.*\n$/);
    const stranger = join(cli.dir, 'stranger');
    cpSync(cli.server.kubeconfig, stranger);
    writeFileSync(
      stranger,
      readFileSync(stranger, 'utf8')
        .replace(/"client-certificate-data": .*/, '"token": "nobody"')
        .replace(/"client-key-data": .*/, ''),
    );
    const unknown = await cli.run('get tenants', { env: { BERTH_CONFIG: stranger } });
    expect(unknown).toMatchObject({ status: 77, stdout: '' });
    expect(unknown.stderr.split('\n')).toHaveLength(2);
  });
});

import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../testing/free-port.js';
import { type Cli, program, startCli, workloadYaml } from './berth.fixture.js';

/** How long a program takes to its first byte of output, or to its end. */
async function firstOutputMs(words: readonly string[], config: string): Promise<number> {
  const startedAt = performance.now();
  const env = { PATH: process.env['PATH'], BERTH_CONFIG: config };
  const child = spawn(process.execPath, words, { env });
  await new Promise<void>((resolve) => {
    child.stdout.once('data', () => resolve());
    child.once('close', () => resolve());
  });
  const tookMs = performance.now() - startedAt;
  child.kill();
  return tookMs;
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

describe('berth, as a program', () => {
  let cli: Cli;
  beforeAll(async () => {
    cli = await startCli();
  });
  afterAll(() => cli.close());

  it('says its first word soon, measured against what Node alone takes at the same time', async () => {
    const bare = { words: ['-e', '0'], tookMs: [] as number[] };
    // When this was written help and version took twice as long as Node alone, get five times.
    const commands = [
      { words: [program, '--help'], timesMax: 5, tookMs: [] as number[] },
      { words: [program, 'version'], timesMax: 5, tookMs: [] as number[] },
      { words: [program, 'get', 'tenants'], timesMax: 8, tookMs: [] as number[] },
    ];
    // In turns, so that what else the machine does falls on all alike.
    for (let round = 0; round < 5; round += 1) {
      for (const { words, tookMs } of [bare, ...commands])
        tookMs.push(await firstOutputMs(words, cli.server.kubeconfig));
    }
    const bareMs = median(bare.tookMs);
    for (const { words, timesMax, tookMs } of commands)
      expect(median(tookMs) / bareMs, words.slice(1).join(' ')).toBeLessThan(timesMax);
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

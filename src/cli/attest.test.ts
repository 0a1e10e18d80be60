import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { playedNodes, type PlayedNodes } from '../main/nodes.fixture.js';
import { type Cli, startCli } from './berth.fixture.js';

const once = `
apiVersion: berth.dev/v1
kind: Workload
metadata: { name: once }
spec:
  type: Service
  replicas: 1
  onNodeLost: { action: Wait, afterSeconds: 1 }
  template: { run: { process: { command: [./once] } }, execution: AtMostOne }
`;

describe('berth attest', () => {
  let cli: Cli;
  let nodes: PlayedNodes;
  beforeAll(async () => {
    cli = await startCli();
    nodes = await playedNodes(cli.server);
    await nodes.operate('register', {
      ...{ node: 'n1', capacity: { cpu: '4' }, allocatable: { cpu: '4' }, leaseSeconds: 5 },
      ...{ agent: { version: 'test', drivers: ['process'], fencing: 'Supported' }, operation: 'register/n1' },
    });
    await cli.ok('apply -f -', { input: once });
  });
  afterAll(async () => {
    nodes.close();
    await cli.close();
  });

  it('lets a person say what no proof can, with who, why and for how long; it is shown, kept, and taken back', async () => {
    await cli.ok('wait wl/once --for jsonpath={.status.unknownReplicas}=1 --timeout 90s');
    const given = await cli.ok([
      ...['attest', 'node/n1', '--stopped', '--reason', 'pulled the plug', '--for', '1h'],
    ]);
    expect(given).toBe('node/n1 attested stopped by admin, for 1h\n');
    await cli.ok('wait wl/once --for jsonpath={.status.unknownReplicas}=0 --timeout 90s');
    const { status } = JSON.parse(await cli.ok('get node n1 -o json')) as { status: { attestation: object } };
    expect(status.attestation).toMatchObject({ by: 'admin', reason: 'pulled the plug', forSeconds: 3_600 });
    expect(await cli.ok('get node n1 -o wide')).toMatch(/admin/);
    expect((await cli.run('why node/n1')).stdout).toContain('admin attests that what ran here has stopped');
    expect(await cli.ok('attest n1 --withdraw')).toBe('node/n1 attestation withdrawn\n');
    expect(JSON.parse(await cli.ok('get node n1 -o json')).status.attestation).toBeUndefined();
    const audit = join(cli.server.dir, 'audit');
    const kept = () =>
      readdirSync(audit)
        .flatMap((file) => readFileSync(join(audit, file), 'utf8').split('\n'))
        .filter((line) => line.includes('"kind":"Attestation"') && line.includes('"name":"n1"'));
    await expect.poll(kept, { timeout: 30_000 }).toHaveLength(2);
  }, 200_000);

  it.each([
    ['attest n1', 64, 'say what you attest'],
    ['attest n1 --stopped', 64, 'say how you know'],
    ['attest n9 --stopped --reason looked', 1, 'there is no node "n9"'],
    ['attest n1 --stopped --reason looked --for 9999h', 1, 'forSeconds'],
  ])('%s ends with %d', async (words, code, says) => {
    const { status, stderr } = await cli.run(words);
    expect([status, stderr]).toEqual([code, expect.stringContaining(says)]);
  });

  it('is for operators alone', async () => {
    const config = await cli.server.kubeconfigFor({ kind: 'viewer' });
    const { status } = await cli.run(`attest n1 --stopped --reason looked --config ${config}`);
    expect(status).toBe(77);
  });
});

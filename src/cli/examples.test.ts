import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { projectRoot } from '../../testing/source-tree.js';
import { type Cli, startCli } from './berth.fixture.js';

const platform = join(projectRoot, 'examples/platform');

describe('the examples', () => {
  let cli: Cli;
  beforeAll(async () => {
    cli = await startCli();
  });
  afterAll(() => cli.close());

  it('of a platform are all applied as they are', async () => {
    const applied = await cli.ok(['apply', '-f', platform]);
    const objects = readdirSync(platform).flatMap((file) =>
      readFileSync(join(platform, file), 'utf8').match(/^kind: /gm),
    );
    expect(applied.trim().split('\n')).toHaveLength(objects.length);
    for (const workload of ['risk-api', 'billing-api', 'search-indexing', 'fraud-batch', 'analytics'])
      expect(applied).toContain(`workload/${workload} created`);
  });

  it('of a fleet are played, with the nodes of the worked cases, in regions that are made', async () => {
    const token = cli.write('token', await cli.ok('token create --identity hollow:node-'));
    const fleet = join(projectRoot, 'examples/fleets/four-regions.yaml');
    const playing = cli.start(['hollow', '--fleet', fleet, '--token-file', token]);
    const names = async (kind: string): Promise<string[]> =>
      (await cli.ok(`get ${kind} -o name`)).trim().split('\n');
    await expect.poll(async () => (await names('nodes')).length, { timeout: 60_000, interval: 500 }).toBe(60);
    const nodes = await names('nodes');
    for (const node of ['node-b7', 'node-gpu-7', 'node-a', 'node-b']) expect(nodes).toContain(`node/${node}`);
    expect(await cli.ok('get region eu-west -o json')).toContain('"jurisdiction": "EU"');
    expect(await names('regions')).toHaveLength(5);
    playing.child.kill('SIGTERM');
    expect(await playing.ended).toMatchObject({ status: 0, stdout: 'ready: plays 60 nodes\n' });
  }, 90_000);

  it.each([
    ['hollow', 64, 'give a number of nodes or a fleet file'],
    ['hollow --count 0', 64, "argument '0' is invalid. It is a whole number from 1 up."],
    ['hollow --count 2 --fleet x.yaml', 64, 'not both'],
    ['hollow --fleet x.yaml', 64, 'x.yaml: ENOENT'],
    ['hollow --count 2', 77, 'admin may not do this: node streams are for node:NAME and hollow:PREFIX'],
    ['hollow --count 2 --server https://127.0.0.1:1', 69, 'connection refused'],
    ['hollow --count 2 --token-file none', 64, '--token-file none: ENOENT'],
    ['up --hollow 2 --fleet x.yaml', 64, 'not both'],
  ])('are not needed to see what is wrong with: %s', async (words, status, says) => {
    const ran = await cli.run(words);
    expect(ran).toMatchObject({ status, stdout: '' });
    expect(ran.stderr).toContain(says);
    expect(ran.stderr).not.toMatch(/^ +at /m);
  });
});

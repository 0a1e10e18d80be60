import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scratchDirectory } from '../../testing/scratch.js';
import type { Node } from '../model/kinds/node.js';
import { type BerthProcess, startBerth } from './process.fixture.js';
import { type TestClient, testClient } from './test-client.fixture.js';

const soon = { timeout: 30_000, interval: 200 };

describe('berth up --hollow', () => {
  let scratch: ReturnType<typeof scratchDirectory>;
  let server: BerthProcess;
  let client: TestClient;
  beforeAll(() => {
    scratch = scratchDirectory('hollow');
  });
  afterAll(async () => {
    client.close();
    server.child.kill('SIGKILL');
    await server.ended;
    scratch.remove();
  });
  const start = async (...words: string[]): Promise<void> => {
    server = await startBerth(['up', '--dir', join(scratch.path, 'data'), '--port', '0', ...words]);
    client = testClient(server.kubeconfig);
  };
  const nodes = async (): Promise<readonly string[]> => {
    const { text } = await client.send('GET', '/apis/berth.dev/v1/nodes');
    return (JSON.parse(text) as { items: Node[] }).items.map(
      ({ metadata, status }) => `${metadata.name} ${status?.reachability} ${status?.epoch?.number}`,
    );
  };

  it('plays nodes, stops cleanly, and goes on with them under new epochs', async () => {
    await start('--hollow', '3');
    await expect.poll(nodes, soon).toEqual(['hollow-1 Fresh 1', 'hollow-2 Fresh 1', 'hollow-3 Fresh 1']);
    client.close();
    server.child.kill('SIGTERM');
    expect(await server.ended).toBe(0);
    await start('--hollow', '2');
    await expect.poll(nodes, soon).toEqual(['hollow-1 Fresh 2', 'hollow-2 Fresh 2', 'hollow-3 Fresh 1']);
  }, 90_000);

  it('[S6] has the detector call a node late that nobody plays any more, after a full window, and no other', async () => {
    await expect
      .poll(nodes, { timeout: 40_000, interval: 500 })
      .toEqual(['hollow-1 Fresh 2', 'hollow-2 Fresh 2', 'hollow-3 Suspect 1']);
  }, 60_000);

  it.each([
    ['/apis/nodes.berth.dev/v1/stream', 'berth-nodes/1', 400],
    ['/apis/berth.dev/v1/nodes', 'berth-nodes/2', 400],
    ['/apis/nodes.berth.dev/v1/stream', 'berth-nodes/2', 403],
  ])('answers an admin that asks to upgrade %s to %s with %i', async (path, upgrade, status) => {
    const answer = await client.send('GET', path, { headers: { connection: 'Upgrade', upgrade } });
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.text)).toMatchObject({ kind: 'Status' });
  });
});

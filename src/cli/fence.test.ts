import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cli, startCli } from './berth.fixture.js';

describe('berth fence', () => {
  let cli: Cli;
  beforeAll(async () => {
    cli = await startCli();
  });
  afterAll(() => cli.close());

  it('[S5] shows and changes what is permitted, and refuses what would be no proof', async () => {
    expect(await cli.ok('fence')).toMatch(/^a renewal permits 120 s; .*\na release waits .* for 130 s\n/);
    const refused = await cli.run('fence set --permit 10m');
    expect(refused.status).toBe(1);
    expect(refused.stderr).toMatch(/windowSeconds must be at least 606\.3, not 130/);
    const set = 'fence set --permit 4s --grace 2s --kill 1s --stall 1s --window 6s';
    expect((await cli.run(set)).stderr).toMatch(/for 130 s, and for 6 s once nothing can run/);
    expect(JSON.parse(await cli.ok('fence get -o json'))).toMatchObject({
      ...{ kind: 'Fence', permitSeconds: 4, windowSeconds: 130, windowSecondsNext: 6 },
    });
    await cli.ok('fence set --permit 200s --window 300s');
    expect(JSON.parse(await cli.ok('fence -o json'))).toMatchObject({ windowSeconds: 300 });
  });
});

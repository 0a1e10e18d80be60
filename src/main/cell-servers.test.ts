import { describe, expect, it } from 'vitest';
import { VirtualTime } from '../env/virtual.js';
import { CellRecords } from '../objects/cell-records.js';
import { MemoryStore } from '../store/memory.js';
import { CellServers, type ServerRecord } from './cell-servers.js';

const hourMs = 3_600_000;

describe('the servers of a cell', () => {
  it('know each other, and forget one that says nothing for long enough', async () => {
    const world = new VirtualTime({ seed: 1 });
    const machine = world.machine('server');
    const { env } = machine;
    const seen: string[][] = [];
    world.spawn(machine, 'servers', async () => {
      const records = new CellRecords<ServerRecord>(new MemoryStore(env), 'servers');
      const open = (name: string, address?: string): CellServers =>
        new CellServers({ records, env, name, address, forgetMs: 3 * hourMs });
      const [a, b, c] = [open('a', 'https://a'), open('b', 'https://b'), open('c')];
      const look = async (): Promise<void> => {
        seen.push((await a.others()).map(({ name, address }) => `${name} ${address ?? '(nowhere)'}`));
      };
      for (const server of [a, b, c]) await server.announce();
      await look();
      // c is gone from here on.
      for (let hour = 0; hour < 4; hour += 1) {
        for (const server of [a, b]) await server.announce();
        await look();
        await env.sleep(hourMs);
      }
    });
    expect((await world.run()).kind).toBe('idle');
    const all = ['b https://b', 'c (nowhere)'];
    expect(seen).toEqual([all, all, all, all, ['b https://b']]);
  });
});

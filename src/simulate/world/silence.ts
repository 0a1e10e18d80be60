import type { SimProcess } from './sim-process.js';
import type { World } from './world.js';

type Servers = readonly Pick<SimProcess, 'name'>[];

/** Cuts an agent off from every server, until what is returned is called. */
export function cutOff({ faults, network }: World, agent: string, servers: Servers): () => void {
  faults.count('partition');
  for (const server of servers) network.cut({ name: agent }, server);
  return () => servers.forEach((server) => network.heal({ name: agent }, server));
}

/** Cuts an agent off from every server for a while. */
export function silence(world: World, agent: string, servers: Servers, forMs: number): void {
  world.wire.after(forMs, cutOff(world, agent, servers));
}

/** For a while an agent is heard by no server, but hears what they send. */
export function mute(world: World, agent: string, servers: Servers, forMs: number): void {
  const { faults, network, wire } = world;
  faults.count('oneWay.up');
  for (const server of servers) network.cutWay({ name: agent }, server);
  wire.after(forMs, () => servers.forEach((server) => network.healWay({ name: agent }, server)));
}

/** For a while an agent hears no server, but is heard: it renews, and is not told that it did. */
export function deafen(world: World, agent: string, servers: Servers, forMs: number): void {
  const { faults, network, wire } = world;
  faults.count('oneWay.down');
  for (const server of servers) network.cutWay(server, { name: agent });
  wire.after(forMs, () => servers.forEach((server) => network.healWay(server, { name: agent })));
}

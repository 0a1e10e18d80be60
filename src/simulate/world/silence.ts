import type { World } from './world.js';

/** Cuts an agent off from every server for a while. */
export function silence(
  world: World,
  agent: string,
  servers: readonly { readonly name: string }[],
  forMs: number,
): void {
  world.faults.count('partition');
  const pairs = servers.map(({ name }) => [agent, name].toSorted().join(' '));
  for (const pair of pairs) world.network.cut.add(pair);
  world.wire.after(forMs, () => pairs.forEach((pair) => world.network.cut.delete(pair)));
}

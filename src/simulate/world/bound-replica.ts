import type { Replica } from '../../model/kinds/replica.js';
import type { Transaction } from '../../store/contract.js';
import type { World } from './world.js';

/** The replica of a workload that a transaction would bind, and where; undefined if it binds none. */
export function bindingIn(
  { writes }: Transaction,
  workload: string,
): { readonly replica: string; readonly node: string } | undefined {
  for (const write of writes) {
    if (write.kind !== 'put' || !write.key.startsWith('/s/Replica/')) continue;
    const replica = write.key.split('/').at(-1) ?? '';
    if (!replica.startsWith(`${workload}-`)) continue;
    const { status } = JSON.parse(Buffer.from(write.value).toString()) as Pick<Replica, 'status'>;
    if (status?.stage === 'Bound' && status.binding !== undefined)
      return { replica, node: status.binding.node };
  }
  return undefined;
}

const lookMs = 50;

/** Calls back once, a moment after a replica of a workload was bound, with its node. */
export function onceBound(world: World, workload: string, then: (node: string) => void): void {
  let seen = 0;
  const look = (): void => {
    for (const { changes } of world.commits.slice(seen))
      for (const { key, after } of changes) {
        if (!key.startsWith('/s/Replica/') || !key.includes(`/${workload}-`)) continue;
        const { stage, binding } = (after as Pick<Replica, 'status'> | undefined)?.status ?? {};
        if (stage === 'Bound' && binding !== undefined) return then(binding.node);
      }
    seen = world.commits.length;
    world.wire.after(lookMs, look);
  };
  world.wire.after(lookMs, look);
}

import type { MonotonicInstant } from '../../env/instant.js';
import type { Region } from '../../model/kinds/region.js';
import type { Remark } from '../../model/ports.js';
import { type Brake, shownBrake } from '../../observe/brakes.js';
import type { BrakeObserver } from '../../observe/brake-observer.js';
import type { Acting } from '../runtime/acting.js';

const lookMs = 1_000;

/** Says on each region where repair is held back, and why; and when that is over. */
export async function tellBrakes(acting: Acting, brakes: BrakeObserver, signal: AbortSignal): Promise<void> {
  const { env, objects, authority, actor } = acting;
  const since: MonotonicInstant = env.clock.monotonic();
  while (!signal.aborted) {
    const on = brakes.now(since).on();
    for (const region of objects.list<Region>('Region')) {
      const remark = brakeRemark(region, on);
      // What is not done is due again at the next look.
      if (remark !== undefined) await authority.remark({ ...remark, actor }).catch(() => undefined);
    }
    await env.sleep(lookMs, signal).catch(() => undefined);
  }
}

/** What is to be said of a region; undefined if it says so already. */
export function brakeRemark(
  { metadata, status }: Region,
  on: readonly Brake[],
): Omit<Remark, 'actor'> | undefined {
  const { name } = metadata;
  const own = on.filter(
    (brake) => brake.scope === 'Cell' || brake.name === name || brake.name.startsWith(`${name}/`),
  );
  const told = status?.conditions?.find(({ type, status: is }) => type === 'Braked' && is === 'True');
  const about = { kind: 'Region', region: name } as const;
  if (own.length === 0) return told === undefined ? undefined : { about, set: [], clear: ['Braked'] };
  // Which brakes are on is the news; how many nodes are silent changes from moment to moment.
  const reason = own.map((brake) => `${brake.scope}${brake.state}${letters(brake.name)}`).join('');
  if (told?.reason === reason) return undefined;
  return { about, set: [{ type: 'Braked', reason, message: own.map(shownBrake).join('; ') }], clear: [] };
}

const letters = (name: string): string =>
  name.replaceAll(/(^|[^A-Za-z0-9])([A-Za-z0-9])/g, (_, _gap, first: string) => first.toUpperCase());

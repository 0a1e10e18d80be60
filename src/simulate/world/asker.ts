import type { ExplainTarget, Explanation } from '../../model/explanation.js';
import { CachedRecords } from '../../objects/cached-records.js';
import { Explainer } from '../../propose/explain/explainer.js';
import { PlacementExplainer } from '../../propose/explain/placement-explainer.js';
import type { World } from './world.js';

/** Somebody who asks why, at a time, and remembers the answers by name. Decisions are not asked for: they are elsewhere. */
export function startAsker(
  world: World,
  atMs: number,
  targets: readonly ExplainTarget[],
): ReadonlyMap<string, Explanation> {
  const answers = new Map<string, Explanation>();
  world.addProcess('asker', async (life) => {
    const { objects, cache } = await world.reach(life);
    const { env } = life;
    const explainer = new Explainer({
      ...{ objects, env },
      decisions: () => ({ list: () => Promise.resolve({ items: [], unanswered: [] }) }),
      placement: new PlacementExplainer({ records: new CachedRecords(cache), env, ages: () => 0 }),
      server: () => ({ name: 'asker', notReady: undefined }),
    });
    if (world.time.nowMs < atMs) await env.sleep(atMs - world.time.nowMs);
    for (const target of targets) answers.set(target.name, await explainer.why(target, undefined));
  });
  return answers;
}

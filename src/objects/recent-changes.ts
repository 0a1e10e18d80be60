import type { Env } from '../env/env.js';
import { BerthError, isBerthError } from '../model/errors.js';
import { viewOfKey } from '../model/record-views.js';
import { asRevision, type Change, type ChangeSet, type Revision, type Store } from '../store/contract.js';
import { EventHistory, eventsKeptMax } from './event-history.js';
import { everythingRange, markKey, markValue, parseStoreKey, shownKey } from './keys.js';

/** A part of the store's history: the changes after one revision, up to another one. */
interface Past {
  readonly after: Revision;
  readonly upTo: Revision;
}

// Nearly every revision makes an event, so a look further back would find more events than are kept.
const revisionsMax = eventsKeptMax;
// Counting so many changes takes about as long as taking in the events that are kept. A count that passes the bound starts
// again with a quarter of the revisions: there are more events in those than are kept.
const changesCountedMax = 5 * eventsKeptMax;
const retryMs = 50;
const silenceMsMax = 5_000;

/**
 * The changes that a cache takes in when it starts, so that it keeps the events that a cache which never stopped would
 * have kept. Undefined: the store takes no write, and the end of its history cannot be told.
 */
export async function recentChanges(store: Store, env: Env): Promise<EventHistory<Change> | undefined> {
  const upTo = await presentOf(store);
  if (upTo === undefined) return undefined;
  let after = asRevision(Math.max(1, upTo - revisionsMax));
  for (;;) {
    try {
      const recent = await lastOf(store, env, { after, upTo });
      if (recent !== undefined) return recent;
      after = asRevision(upTo - Math.max(1, Math.floor((upTo - after) / 4)));
    } catch (error) {
      // The store's history begins later.
      const begin: unknown = isBerthError(error, 'Expired') ? error.details['historyBeginsAt'] : undefined;
      if (typeof begin !== 'number' || begin <= after) throw error;
      after = asRevision(begin);
    }
  }
}

/**
 * A revision at which everything is there that was acknowledged before, and that a watch of everything is certain to
 * reach: in a store with others' keys the newest revision may be theirs.
 */
async function presentOf(store: Store): Promise<Revision | undefined> {
  const outcome = await store.transact({
    guards: [],
    writes: [{ kind: 'put', key: markKey, value: markValue }],
  });
  return outcome.kind === 'Committed' ? outcome.revision : undefined;
}

/** The last changes of a part of history; undefined if there are too many to count. */
async function lastOf(store: Store, env: Env, past: Past): Promise<EventHistory<Change> | undefined> {
  const recent = new EventHistory<Change>(eventsIn);
  recent.beginAt(past.after);
  let changes = 0;
  for await (const sets of changesOf(store, env, past)) {
    for (const set of sets) {
      recent.keep(set);
      changes += set.changes.length;
    }
    if (changes > changesCountedMax) return undefined;
  }
  return recent;
}

/** All changes of a part of history, in order. Ends with the first turn of the watch that reaches the end of the part. */
async function* changesOf(
  store: Store,
  env: Env,
  { after, upTo }: Past,
): AsyncGenerator<readonly ChangeSet[], void> {
  let reached = after;
  while (reached < upTo) {
    const silence = new AbortController();
    const beSilent = (): void => silence.abort();
    let timer = env.after(silenceMsMax, beSilent);
    try {
      for await (const sets of store.watch(everythingRange, { after: reached, signal: silence.signal })) {
        timer.cancel();
        reached = sets.at(-1)?.revision ?? reached;
        yield sets;
        if (reached >= upTo) return;
        // Room for others: history comes as fast as it is taken.
        await env.yield();
        timer = env.after(silenceMsMax, beSilent);
      }
      if (silence.signal.aborted)
        throw new BerthError('StoreUnavailable', `the store tells no changes after revision ${reached}`);
    } catch (error) {
      if (!isBerthError(error, 'SlowWatcher')) throw error;
    } finally {
      timer.cancel();
    }
    await env.sleep(retryMs);
  }
}

/** How many objects a change set is about. */
function eventsIn({ changes }: ChangeSet): number {
  const objects = new Set<string>();
  for (const change of changes) {
    const key = change.kind === 'put' ? change.entry.key : change.key;
    const parsed = parseStoreKey(key);
    if (parsed !== undefined) objects.add(shownKey(parsed.key));
    else if (viewOfKey(key) !== undefined) objects.add(key);
  }
  return objects.size;
}

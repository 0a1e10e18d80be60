import type { Env } from '../env/env.js';
import { isBerthError } from '../model/errors.js';
import type { Entry, KeyRange, Revision, Store } from '../store/contract.js';

// Small enough that parsing a page does not hold up others.
const entriesPerPage = 500;

/** A whole range at one revision, read in pages with room for others in between. Starts over if it is overtaken by compaction. */
export async function readPages(
  store: Store,
  range: KeyRange,
  env: Env,
): Promise<{ readonly entries: readonly Entry[]; readonly revision: Revision }> {
  for (;;) {
    try {
      const first = await store.read(range, { limit: entriesPerPage });
      const { revision } = first;
      const entries = [...first.entries];
      for (let { more } = first; more;) {
        await env.yield();
        const from = `${entries.at(-1)?.key}\0`;
        const page = await store.read({ from, to: range.to }, { limit: entriesPerPage, revision });
        for (const entry of page.entries) entries.push(entry);
        more = page.more;
      }
      return { entries, revision };
    } catch (error) {
      if (!isBerthError(error, 'Expired')) throw error;
    }
  }
}

import type { Env } from '../env/env.js';
import { isBerthError } from '../model/errors.js';
import type { Entry, KeyRange, Revision, Store } from '../store/contract.js';

// Small enough that parsing a page does not hold up others.
const entriesPerPage = 500;

export interface PageReader {
  /** The next entries, in order of keys. */
  page(entries: readonly Entry[]): void;
  /** Compaction has overtaken a reading of the present: what came so far is to be forgotten, it comes again from the start. */
  restart(): void;
}

/**
 * Hands over a whole range at one revision, page by page with room for others in between, and keeps nothing. A past
 * revision that is compacted meanwhile is Expired.
 */
export async function readPages(
  store: Store,
  range: KeyRange,
  env: Env,
  reader: PageReader,
  at?: Revision,
): Promise<Revision> {
  for (;;) {
    try {
      const first = await store.read(range, {
        limit: entriesPerPage,
        ...(at !== undefined && { revision: at }),
      });
      const { revision } = first;
      reader.page(first.entries);
      let last = first.entries.at(-1);
      for (let { more } = first; more;) {
        await env.yield();
        const from = `${last?.key}\0`;
        const page = await store.read({ from, to: range.to }, { limit: entriesPerPage, revision });
        reader.page(page.entries);
        last = page.entries.at(-1) ?? last;
        more = page.more;
      }
      return revision;
    } catch (error) {
      if (at !== undefined || !isBerthError(error, 'Expired')) throw error;
      reader.restart();
    }
  }
}

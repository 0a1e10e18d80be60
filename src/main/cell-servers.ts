import type { Env } from '../env/env.js';
import { type MonotonicInstant, msBetween, wallMs } from '../env/instant.js';
import type { CellRecords } from '../objects/cell-records.js';
import type { OtherServer } from '../objects/decisions/shared-decisions.js';

/** What a server of the cell tells the others of itself. */
export interface ServerRecord {
  /** Its name, the same after each start. */
  readonly id: string;
  readonly address?: string;
  /** When it last said so, for people to read. It changes with each time, which is how the others know. */
  readonly at: string;
}

export interface CellServersParts {
  readonly records: Pick<CellRecords<ServerRecord>, 'list' | 'put' | 'delete'>;
  readonly env: Env;
  readonly name: string;
  readonly address: string | undefined;
  /** A server that has said nothing for this long is asked no more: nothing it kept would still be kept. */
  readonly forgetMs: number;
}

/** How often a server says that it is there: seldom, because only who reads decisions wants to know. */
export const announceEveryMs = 3_600_000;

/** The servers that share a store. Each keeps one record of itself in it. */
export class CellServers {
  // Counted here, from when this process first saw a record as it is: clocks of two machines are never compared.
  readonly #seen = new Map<string, { readonly at: string; readonly since: MonotonicInstant }>();

  constructor(private readonly parts: CellServersParts) {}

  /** Says that this server is there, and forgets those that have not said so for long. */
  async announce(): Promise<void> {
    const { records, env, name, address, forgetMs } = this.parts;
    const at = new Date(wallMs(env.clock.wall())).toISOString();
    await records.put({ id: name, ...(address !== undefined && { address }), at });
    const now = env.clock.monotonic();
    for (const record of await records.list()) {
      const seen = this.#seen.get(record.id);
      if (seen?.at !== record.at) this.#seen.set(record.id, { at: record.at, since: now });
      else if (msBetween(seen.since, now) >= forgetMs) {
        await records.delete(record.id);
        this.#seen.delete(record.id);
      }
    }
  }

  async others(): Promise<readonly OtherServer[]> {
    const { records, name } = this.parts;
    return (await records.list())
      .filter(({ id }) => id !== name)
      .map(({ id, address }) => ({ name: id, address }));
  }
}

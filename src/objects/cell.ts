import type { Env } from '../env/env.js';
import { BerthError } from '../model/errors.js';
import type { Store } from '../store/contract.js';
import { singleKey } from '../store/key-range.js';

/** What a cell knows of itself, under /m/cell. */
export interface Cell {
  readonly format: 1;
  readonly uid: string;
  /** Added to store revisions to make resourceVersions, so that moving to another store never makes them shrink. */
  readonly base: number;
}

const cellKey = '/m/cell';

/** Reads the cell's record, or makes it in an empty store. Two servers that start at once agree on one. */
export async function openCell(store: Store, env: Env): Promise<Cell> {
  for (let attempt = 0; attempt < 10; attempt++) {
    const [entry] = (await store.read(singleKey(cellKey))).entries;
    if (entry !== undefined) {
      const cell = JSON.parse(Buffer.from(entry.value).toString()) as Cell;
      if (cell.format !== 1) {
        throw new BerthError(
          'StoreFormat',
          `the cell has format ${String(cell.format)}; this version of berth reads format 1`,
        );
      }
      return cell;
    }
    const cell: Cell = { format: 1, uid: env.uuid(), base: 0 };
    await store.transact({
      guards: [{ kind: 'absent', key: cellKey }],
      writes: [{ kind: 'put', key: cellKey, value: Buffer.from(JSON.stringify(cell)) }],
    });
  }
  throw new BerthError('StoreUnavailable', 'the cell record could be neither read nor written');
}

import type { Env } from '../env/env.js';
import { BerthError } from '../model/errors.js';
import type { Guard, Store } from '../store/contract.js';
import { singleKey } from '../store/key-range.js';

/** What a cell knows of itself, under /m/cell. */
export interface Cell {
  readonly format: typeof format;
  readonly uid: string;
  /** `Versions` add it to store revisions, so that moving to another store never makes resourceVersions shrink. */
  readonly base: number;
}

// Format 1 differs in the versions alone, which were `base + revision`. A release that gives such versions must not open a
// cell that has had larger ones: versions would shrink, and with them the fences that resources compare.
const format = 2;
const formatBefore = 1;
const cellKey = '/m/cell';

/** Reads the cell's record, or makes it in an empty store. Servers that start at once agree on one. */
export async function openCell(store: Store, env: Env): Promise<Cell> {
  const put = (cell: Cell, guard: Guard): Promise<unknown> =>
    store.transact({
      guards: [guard],
      writes: [{ kind: 'put', key: cellKey, value: Buffer.from(JSON.stringify(cell)) }],
    });
  for (let attempt = 0; attempt < 10; attempt++) {
    const [entry] = (await store.read(singleKey(cellKey))).entries;
    if (entry !== undefined) {
      const cell = JSON.parse(Buffer.from(entry.value).toString()) as Omit<Cell, 'format'> & {
        format: unknown;
      };
      if (cell.format === format) return { ...cell, format };
      if (cell.format !== formatBefore) {
        throw new BerthError(
          'StoreFormat',
          `the cell has format ${String(cell.format)}; this version of berth reads formats ${formatBefore} and ${format}`,
        );
      }
      await put({ ...cell, format }, { kind: 'unchanged', key: cellKey, modRevision: entry.modRevision });
    } else await put({ format, uid: env.uuid(), base: 0 }, { kind: 'absent', key: cellKey });
  }
  throw new BerthError('StoreUnavailable', 'the cell record could be neither read nor written');
}

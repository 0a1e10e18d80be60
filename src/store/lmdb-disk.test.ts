import { describe, expect, it } from 'vitest';
import { scratchDirectory } from '../../testing/scratch.js';
import { fixturePath, type Ran, run } from '../../testing/run-process.js';
import { straceNode } from '../../testing/strace.js';
import { realEnv } from '../env/real.js';
import { everyKey } from './key-range.js';
import { LmdbStore } from './lmdb.js';

interface Report {
  readonly readable: unknown;
  readonly committed: number;
  readonly after: readonly string[];
  readonly watched: readonly string[];
  readonly reopened: unknown;
}

const fixture = fixturePath(import.meta.url, 'lmdb-disk.fixture.js');

/** What each write was told, in order, and the report, unless the process ended before it. */
function readReport({ stdout }: Ran): { told: [key: string, told: string][]; report: Report | undefined } {
  const lines = stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown);
  const told = lines.filter((line): line is [string, string] => Array.isArray(line));
  return { told, report: lines.find((line) => !Array.isArray(line)) as Report | undefined };
}

const failing = (dir: string, inject: string): ReturnType<typeof straceNode> =>
  straceNode(
    ['-e', 'trace=fdatasync,pwrite64', '-P', `${dir}/data.mdb`, '-e', `inject=${inject}`],
    [fixture, 'sync', dir],
  );

describe('the lmdb store on a failing disk', () => {
  it('answers a failing sync with UnknownOutcome and refuses writes until it is healthy', async () => {
    const scratch = scratchDirectory('disk');
    // strace counts calls per thread: the writer thread's first sync creates the store, its second is /first.
    const ran = await failing(scratch.path, 'fdatasync:error=EIO:when=3');
    expect(ran.stderr).toBe('');
    expect(ran.status).toBe(0);
    const { told, report } = readReport(ran);
    expect(told.slice(0, 5)).toEqual([
      ['/first', 'Committed'],
      ['/second', 'UnknownOutcome'],
      ['/third', 'StoreUnavailable'],
      ['/refused', 'StoreUnavailable'],
      ['/healthy-0', 'StoreUnavailable'],
    ]);
    const healthy = told.at(-1)?.[0] ?? '';
    expect(told.at(-1)).toEqual([healthy, 'Committed']);
    // lmdb never wrote the meta page of /second, so the disk says no. The caller could not know.
    expect(report).toEqual({
      readable: ['/first'],
      after: ['/first', healthy],
      watched: ['/first', healthy],
      reopened: ['/first', healthy],
    });
    scratch.remove();
  }, 60_000);

  it('keeps its word wherever a write of a data or meta page fails', async () => {
    const hit = { data: 0, meta: 0, unknown: 0 };
    // ENOSPC as well: on a file system with quotas or copies on write, even the meta page may find no room.
    const failures = [
      ...[1, 2, 3, 4, 5, 6, 7, 8].map((call) => ['EIO', call] as const),
      ...[4, 6].map((call) => ['ENOSPC', call] as const),
    ];
    for (const [error, call] of failures) {
      const scratch = scratchDirectory('disk');
      const ran = await failing(scratch.path, `pwrite64:error=${error}:when=${call}`);
      for (const line of ran.trace) {
        if (line.includes('INJECTED')) hit[line.includes(', 128, ') ? 'meta' : 'data'] += 1;
      }
      const { told, report } = readReport(ran);
      hit.unknown += told.filter(([, answer]) => answer === 'UnknownOutcome').length;

      // The lmdb package formats its message about a failed page write into a buffer that is too small for it,
      // which may end the process there and then. That is no worse than a kill: what counts is the disk.
      const store = await LmdbStore.open({ dir: scratch.path, env: realEnv() });
      const found = (await store.read(everyKey)).entries.map((entry) => entry.key);
      for (const [key, answer] of told) {
        if (answer === 'Committed')
          expect(found, `${error} at call ${call}: ${key} was acknowledged`).toContain(key);
        else if (answer !== 'UnknownOutcome')
          expect(found, `${error} at call ${call}: ${key} was refused`).not.toContain(key);
      }
      if (report !== undefined) {
        expect(report.reopened).toEqual(found);
        expect(report.after).toEqual(found);
        expect(report.watched.toSorted()).toEqual(found);
      }
      const outcome = await store.transact({ guards: [], writes: [{ kind: 'delete', key: '/first' }] });
      expect(outcome.kind).toBe('Committed');
      await store.close();
      scratch.remove();
    }
    expect(hit.data).toBeGreaterThan(0);
    expect(hit.meta).toBeGreaterThan(0);
    expect(hit.unknown).toBeGreaterThan(0);
  }, 120_000);

  it.each([
    { what: 'the sync takes long', inject: 'fdatasync:delay_enter=300000' },
    // The meta page is in memory then, where lmdb's own readers see it, and not on disk for certain.
    { what: 'the write of the meta page takes long', inject: 'pwrite64:delay_exit=300000' },
  ])(
    'lets nothing be read or watched before it is on disk: $what',
    async ({ inject }) => {
      const scratch = scratchDirectory('slow');
      const ran = await straceNode(
        ['-e', 'trace=fdatasync,pwrite64', '-P', `${scratch.path}/data.mdb`, '-e', `inject=${inject}`],
        [fixture, 'slow', scratch.path],
      );
      expect(ran.stderr).toBe('');
      const { report } = readReport(ran);
      expect(report).toMatchObject({ early: 0, after: ['/slow'], watched: ['/slow'] });
      expect((report as unknown as { looks: number }).looks, 'nobody looked meanwhile').toBeGreaterThan(10);
      scratch.remove();
    },
    60_000,
  );

  it('answers a full disk with StoreFull, keeps what was acknowledged, and goes on when there is room', async () => {
    const scratch = scratchDirectory('full');
    // A small disk of its own, in a mount namespace that ends with the process.
    const mount = `mount -t tmpfs -o size=16m tmpfs ${scratch.path} && exec "$@"`;
    const ran = await run('unshare', [
      ...(process.getuid?.() === 0 ? [] : ['--map-root-user']),
      ...['--mount', 'sh', '-c', mount, 'sh', process.execPath, fixture, 'full', scratch.path],
    ]);
    expect(ran.stderr).toBe('');
    expect(ran.status).toBe(0);
    const { told, report } = readReport(ran);
    expect(told.filter(([, answer]) => answer === 'Committed').length).toBeGreaterThan(10);
    expect(told.slice(-4).map(([, answer]) => answer)).toEqual([
      'StoreFull',
      'StoreFull',
      'StoreFull',
      'Committed',
    ]);
    expect(report).toMatchObject({ readable: true, reopened: true });
    scratch.remove();
  }, 60_000);
});

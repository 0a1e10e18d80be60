import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { fixturePath } from '../../testing/run-process.js';
import { scratchDirectory } from '../../testing/scratch.js';
import { SeededRandom } from '../env/random.js';
import { realEnv } from '../env/real.js';
import { asRevision, type ChangeSet, type Revision } from './contract.js';
import { everyKey } from './key-range.js';
import { LmdbStore } from './lmdb.js';

interface Acknowledged {
  readonly writer: string;
  readonly number: number;
  readonly revision: Revision;
}

/** Runs the writers and kills them; returns what they had been told. */
async function runAndKill(
  dir: string,
  said: string,
  when: { fromStart: boolean; afterMs: number },
): Promise<Acknowledged[]> {
  // A file, not a pipe: what was said before the kill is all there, however slow the reader is.
  const output = openSync(said, 'w');
  const child = spawn(process.execPath, [fixturePath(import.meta.url, 'lmdb-killed.fixture.js'), dir], {
    stdio: ['ignore', output, 'inherit'],
  });
  closeSync(output);
  let ended: string | null | undefined;
  const gone = new Promise<void>((resolve) => {
    child.once('close', (code, signal) => {
      ended = signal ?? `exit ${code}`;
      resolve();
    });
  });
  while (!when.fromStart && ended === undefined && statSync(said).size === 0) await sleep(2);
  await sleep(when.afterMs);
  child.kill('SIGKILL');
  await gone;
  expect(ended, 'the writers ended by themselves').toBe('SIGKILL');
  return readFileSync(said, 'utf8')
    .split('\n')
    .filter((line) => /^w\d \d+ \d+$/.test(line))
    .map((line) => {
      const [writer = '', number, revision] = line.split(' ');
      return { writer, number: Number(number), revision: asRevision(Number(revision)) };
    });
}

describe('the lmdb store whose process is killed', () => {
  const scratch = scratchDirectory('killed');
  afterAll(() => scratch.remove());

  it('loses nothing acknowledged, shows nothing half-written and never gives a revision twice, 50 times', async () => {
    const seed = process.env['SEED'] ?? String(Date.now());
    const random = new SeededRandom(seed);
    const dir = join(scratch.path, 'store');
    let highest = 0;
    let total = 0;
    for (let round = 0; round < 50; round++) {
      // Every third time the clock runs from the start of the process, so that opening and creating are hit too.
      const fromStart = round % 3 === 0;
      const when = { fromStart, afterMs: random.integer(fromStart ? 250 : 120) };
      const acknowledged = await runAndKill(dir, join(scratch.path, 'said'), when);
      const where = `SEED=${seed}, round ${round}`;
      total += acknowledged.length;
      const revisions = acknowledged.map((one) => one.revision);
      expect(new Set(revisions).size, `${where}: a revision was given twice`).toBe(revisions.length);
      expect(Math.min(...revisions), `${where}: a revision of an earlier run came back`).toBeGreaterThan(
        highest,
      );

      const store = await LmdbStore.open({ dir, env: realEnv() });
      const { entries, revision } = await store.read(everyKey);
      expect(revision, where).toBeGreaterThanOrEqual(Math.max(...revisions, highest));
      highest = revision;
      const newest = new Map(acknowledged.map((one) => [one.writer, one]));
      for (const [writer, told] of newest) {
        const parts = entries.filter((entry) => entry.key.startsWith(`/${writer}/`));
        const numbers = new Set(parts.map((entry) => Number(Buffer.from(entry.value).toString())));
        expect(parts, where).toHaveLength(3);
        expect(numbers.size, `${where}: ${writer} is half-written`).toBe(1);
        const [number = 0] = numbers;
        // One more than acknowledged may have landed: its answer was on the way.
        expect(number - told.number, `${where}: ${writer} lost an acknowledged write`).toBeOneOf([0, 1]);
        if (number === told.number) expect(parts[0]?.modRevision, where).toBe(told.revision);
      }
      await expectHistory(store, acknowledged.slice(-10), revision);
      await store.close();
    }
    expect(total, 'the writers hardly wrote').toBeGreaterThan(500);
  }, 180_000);
});

/** Every transaction given is in the history at its revision, whole. */
async function expectHistory(store: LmdbStore, told: readonly Acknowledged[], last: Revision): Promise<void> {
  if (told.length === 0) return;
  const seen = new Map<number, ChangeSet>();
  const watch = store.watch(everyKey, {
    after: asRevision(Math.min(...told.map((one) => one.revision)) - 1),
  });
  while (!seen.has(last)) for (const set of (await watch.next()).value ?? []) seen.set(set.revision, set);
  await watch.return();
  for (const { writer, number, revision } of told) {
    const changes = seen.get(revision)?.changes ?? [];
    expect(
      changes.map((change) => (change.kind === 'put' ? Buffer.from(change.entry.value).toString() : '')),
    ).toEqual(Array.from({ length: 3 }, () => String(number)));
    expect(changes.map((change) => (change.kind === 'put' ? change.entry.key : ''))).toEqual(
      ['a', 'b', 'c'].map((part) => `/${writer}/${part}`),
    );
  }
}

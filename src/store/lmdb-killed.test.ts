import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { scratchDirectory } from '../../testing/scratch.js';
import { fixturePath } from '../../testing/strace.js';
import { realEnv } from '../env/real.js';
import type { ChangeSet, Revision } from './contract.js';
import { everyKey } from './key-range.js';
import { LmdbStore } from './lmdb.js';

interface Acknowledged {
  readonly writer: string;
  readonly number: number;
  readonly revision: Revision;
}

/** Runs the writers, kills them `afterMs` past their first acknowledgement, and returns what they had been told. */
async function runAndKill(dir: string, afterMs: number): Promise<Acknowledged[]> {
  const child = spawn(process.execPath, [fixturePath(import.meta.url, 'lmdb-killed.fixture.js'), dir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  const started = new Promise<void>((resolve) => {
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      resolve();
    });
  });
  const ended = new Promise<string | null>((resolve) => child.once('close', (_, signal) => resolve(signal)));
  await Promise.race([started, ended]);
  await sleep(afterMs);
  child.kill('SIGKILL');
  expect(await ended, 'the writers ended by themselves').toBe('SIGKILL');
  return text
    .split('\n')
    .filter((line) => /^w\d \d+ \d+$/.test(line))
    .map((line) => {
      const [writer = '', number, revision] = line.split(' ');
      return { writer, number: Number(number), revision: Number(revision) as Revision };
    });
}

describe('the lmdb store whose process is killed', () => {
  it('loses nothing acknowledged, shows nothing half-written and never gives a revision twice, 50 times', async () => {
    const scratch = scratchDirectory('killed');
    let highest = 0;
    let total = 0;
    for (let round = 0; round < 50; round++) {
      const acknowledged = await runAndKill(scratch.path, Math.random() * 120);
      total += acknowledged.length;
      const revisions = acknowledged.map((one) => one.revision);
      expect(new Set(revisions).size, 'a revision was given twice').toBe(revisions.length);
      for (const revision of revisions)
        expect(revision, 'a revision of an earlier run came back').toBeGreaterThan(highest);

      const store = await LmdbStore.open({ dir: scratch.path, env: realEnv() });
      const { entries, revision } = await store.read(everyKey);
      highest = Math.max(...revisions, highest);
      expect(revision).toBeGreaterThanOrEqual(highest);
      highest = revision;
      const newest = new Map(acknowledged.map((one) => [one.writer, one]));
      for (const [writer, told] of newest) {
        const parts = entries.filter((entry) => entry.key.startsWith(`/${writer}/`));
        const numbers = new Set(parts.map((entry) => Number(Buffer.from(entry.value).toString())));
        expect(parts).toHaveLength(3);
        expect(numbers.size, `${writer} is half-written`).toBe(1);
        const [number = 0] = numbers;
        // One more than acknowledged may have landed: its answer was on the way.
        expect(number - told.number, `${writer} lost an acknowledged write`).toBeOneOf([0, 1]);
        if (number === told.number) expect(parts[0]?.modRevision).toBe(told.revision);
      }
      await expectHistory(store, acknowledged.slice(-10), revision);
      await store.close();
    }
    expect(total, 'the writers hardly wrote').toBeGreaterThan(500);
    scratch.remove();
  }, 180_000);
});

/** Every transaction given is in the history at its revision, whole. */
async function expectHistory(store: LmdbStore, told: readonly Acknowledged[], last: Revision): Promise<void> {
  const first = told[0];
  if (first === undefined) return;
  const seen = new Map<number, ChangeSet>();
  const watch = store.watch(everyKey, {
    after: (Math.min(...told.map((one) => one.revision)) - 1) as Revision,
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

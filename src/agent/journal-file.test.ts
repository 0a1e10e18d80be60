import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { scratchDirectory } from '../../testing/scratch.js';
import { JournalFile } from './journal-file.js';
import { isRunEntry, keptRuns } from './supervisor/past-runs.js';
import type { JournalEntry } from './supervisor/machine.js';

const opened = (uid: string, execution = 1): JournalEntry => ({
  kind: 'opened',
  facts: {
    ...{ uid, execution, isFenced: false },
    labels: { tenant: 't', workload: 'w', replica: uid, uid, slot: '0', execution, node: 'n' },
  },
  identity: { bootId: 'boot', pid: 7, startTicks: 8 },
});

let scratch: ReturnType<typeof scratchDirectory>;
let path: string;
beforeEach(() => {
  scratch = scratchDirectory('journal');
  path = join(scratch.path, 'journal');
});
afterEach(() => scratch.remove());

let ids = 0;
const open = () =>
  JournalFile.open<JournalEntry>(path, {
    ...{ kept: keptRuns, isEntry: isRunEntry, newId: () => `journal ${(ids += 1)}` },
  });
const idNow = (): string => {
  const { journal } = open();
  journal.close();
  return journal.id;
};

const written = (journal: JournalFile<JournalEntry>, entry: JournalEntry): Promise<string | undefined> =>
  new Promise((resolve) => journal.append(entry, resolve));

/** How long files of this process may become: to write on a disk that is full. */
const allowBytes = (bytes: number | 'unlimited'): void => {
  const { status } = spawnSync('prlimit', [`--pid=${process.pid}`, `--fsize=${bytes}:`]);
  expect(status).toBe(0);
};
afterEach(() => allowBytes('unlimited'));

describe('the journal of a supervisor', () => {
  it('says the last of each replica when it is opened again, without what was forgotten', async () => {
    const { journal } = open();
    await written(journal, opened('a'));
    await written(journal, opened('b'));
    await written(journal, opened('a', 2));
    await written(journal, { kind: 'forgotten', uid: 'b' });
    journal.close();
    expect(open().entries).toEqual([opened('a', 2)]);
  });

  it('leaves out a line that was being written when the machine stopped', async () => {
    const { journal } = open();
    await written(journal, opened('a'));
    journal.close();
    appendFileSync(path, '{"kind":"opened","facts":{"uid":"b"');
    const again = open();
    expect(again.entries).toEqual([opened('a')]);
    await written(again.journal, opened('c'));
    again.journal.close();
    expect(open().entries).toEqual([opened('a'), opened('c')]);
  });

  it('does not say that it has written what a full disk took a part of, and that part spoils nothing', async () => {
    const { journal } = open();
    await written(journal, opened('a'));
    allowBytes(statSync(path).size + 50);
    expect(await written(journal, opened('b'))).toMatch(/EFBIG/);
    allowBytes('unlimited');
    expect(await written(journal, opened('c'))).toBeUndefined();
    journal.close();
    expect(open().entries).toEqual([opened('a'), opened('c')]);
  });

  it('is read and added to where there is no room to write it anew', async () => {
    const { journal } = open();
    await written(journal, opened('a'));
    journal.close();
    appendFileSync(path, '{"kind":"opened","facts":{"uid":"b"');
    allowBytes(10);
    const again = open();
    allowBytes('unlimited');
    expect(again.entries).toEqual([opened('a')]);
    await written(again.journal, opened('c'));
    again.journal.close();
    expect(open().entries).toEqual([opened('a'), opened('c')]);
  });

  it('stays as small as what it says', async () => {
    const { journal } = open();
    await written(journal, opened('stays'));
    for (let round = 1; round <= 2_500; round++) {
      journal.append(opened('a', round));
      if (round % 500 === 0) await written(journal, opened('b', round));
    }
    expect(readFileSync(path, 'utf8').split('\n').length).toBeLessThan(2_500);
    journal.close();
    expect(open().entries).toEqual([opened('stays'), opened('a', 2_500), opened('b', 2_500)]);
  });

  it('[S5] keeps its id for as long as nothing of it is lost, torn ends and full disks included', async () => {
    const id = idNow();
    const { journal } = open();
    await written(journal, opened('a'));
    allowBytes(statSync(path).size + 50);
    await written(journal, opened('b'));
    allowBytes('unlimited');
    await written(journal, opened('c'));
    journal.close();
    appendFileSync(path, '{"kind":"opened","facts":{"uid":"d"');
    expect([idNow(), idNow()]).toEqual([id, id]);
  });

  it.each([
    ['that is not JSON', '{"kind":"opened","facts":{"uid":"b"'],
    ['that is JSON and says nothing', 'null'],
    ['that has lost a part of what it said', '{"kind":"opened","facts":{"uid":"b"}}'],
  ])(
    '[S5] has another id after a line %s, says so, keeps what can be read and the file aside',
    async (_, line) => {
      const id = idNow();
      const { journal } = open();
      await written(journal, opened('a'));
      journal.close();
      appendFileSync(path, `${line}\n${JSON.stringify(opened('c'))}\n`);
      const again = open();
      again.journal.close();
      expect(again.entries).toEqual([opened('a'), opened('c')]);
      expect(again.damage).toMatch(/is damaged: 1 of \d lines cannot be read; it is kept as .*\.damaged$/);
      expect(readFileSync(`${path}.damaged`, 'utf8')).toContain(line);
      expect(again.journal.id).not.toBe(id);
      expect([idNow(), open().damage]).toEqual([again.journal.id, undefined]);
    },
  );

  it('[S5] has another id if it is gone, cannot be read, or says none', () => {
    const found = [idNow()];
    rmSync(path);
    found.push(idNow());
    rmSync(path);
    mkdirSync(path);
    found.push(idNow());
    writeFileSync(path, `${JSON.stringify(opened('a'))}\n`);
    found.push(idNow());
    expect(new Set(found).size).toBe(4);
    expect(open().entries).toEqual([opened('a')]);
  });
});

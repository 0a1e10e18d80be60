import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { scratchDirectory } from '../../../testing/scratch.js';
import { realEnv } from '../../env/real.js';
import { logDirectory, logFileName, logFilesOf } from './log-files.js';
import { bytesOf, type LogLabels, type LogRecord, parseRecord } from '../../model/log-record.js';
import { LogWriter, type LogWriterParts } from './log-writer.js';

const labels: LogLabels = {
  ...{
    tenant: 'fraud',
    workload: 'api',
    replica: 'api-0-1',
    uid: '7d9e',
    slot: '0',
    execution: 1,
    node: 'n1',
  },
};

describe('LogWriter', () => {
  let scratch: ReturnType<typeof scratchDirectory>;
  let directory: string;
  beforeEach(() => {
    scratch = scratchDirectory('log-writer');
    directory = logDirectory(scratch.path, labels);
  });
  afterEach(() => scratch.remove());

  const open = (parts: Partial<LogWriterParts> = {}) =>
    LogWriter.open({ dir: scratch.path, labels, bytesMax: 4096, filesMax: 3, env: realEnv(), ...parts });
  const names = (): string[] => logFilesOf(readdirSync(directory)).map(logFileName);
  const records = (): LogRecord[] =>
    names()
      .flatMap((name) => readFileSync(join(directory, name), 'utf8').split('\n'))
      .flatMap((line) => parseRecord(line) ?? []);
  const said = (): string => Buffer.concat(records().map(bytesOf)).toString();

  it('writes each line with its time, its stream and whose it is', async () => {
    const writer = await open();
    writer.write('stdout', Buffer.from('hello\n'));
    writer.write('stderr', Buffer.from('oh'), '2026-01-02T03:04:05.006Z');
    await writer.close();
    const [hello, oh] = records();
    expect(hello).toMatchObject({ ...labels, stream: 'stdout', message: 'hello' });
    expect(Date.parse(hello?.time ?? '')).toBeGreaterThan(0);
    expect(hello).not.toHaveProperty('partial');
    expect(oh).toMatchObject({ stream: 'stderr', message: 'oh', partial: true });
  });

  it('keeps bytes that are not UTF-8, and shows what can be shown', async () => {
    const bytes = Buffer.from([0x61, 0xff, 0xfe, 0x62, 0x0a]);
    const writer = await open();
    writer.write('stdout', bytes);
    await writer.close();
    const [record] = records();
    expect(record?.message).toBe('a\ufffd\ufffdb');
    expect(record === undefined ? undefined : bytesOf(record)).toEqual(bytes);
  });

  it('begins a new file when one is full, and keeps only the newest', async () => {
    const writer = await open({ bytesMax: 1024, filesMax: 3 });
    for (let line = 0; line < 100; line++) {
      writer.write('stdout', Buffer.from(`line ${line}\n`));
      await writer.drained();
    }
    await writer.close();
    expect(names()).toHaveLength(3);
    const kept = records().map(({ message }) => message);
    expect(kept.at(-1)).toBe('line 99');
    expect(kept).toEqual(Array.from(kept, (_, index) => `line ${100 - kept.length + index}`));
    for (const name of names()) expect(readFileSync(join(directory, name)).length).toBeLessThan(1024 + 512);
  });

  it('keeps what the execution before it said, however much it writes itself', async () => {
    const first = await open({ bytesMax: 512, filesMax: 2 });
    first.write('stdout', Buffer.from('why it ended\n'));
    await first.close();
    const second = await open({ bytesMax: 512, filesMax: 2, labels: { ...labels, execution: 2 } });
    for (let line = 0; line < 50; line++) {
      second.write('stdout', Buffer.from(`line ${line}\n`));
      await second.drained();
    }
    await second.close();
    expect(names()).toHaveLength(3);
    expect(records()[0]?.message).toBe('why it ended');
  });

  it('goes on in the same file after its process was killed in the middle of a line', async () => {
    const first = await open();
    first.write('stdout', Buffer.from('before\n'));
    await first.close();
    appendFileSync(join(directory, '1-1.jsonl'), '{"time":"2026-');
    const second = await open();
    second.write('stdout', Buffer.from('after\n'));
    await second.close();
    expect(names()).toEqual(['1-1.jsonl']);
    expect(said()).toBe('before\nafter\n');
  });

  it('tells who writes faster than the disk to wait, and takes a stream no faster', async () => {
    const writer = await open({ bytesMax: 1 << 30 });
    const line = Buffer.from(`${'x'.repeat(1023)}\n`);
    let taken = 0;
    while (writer.write('stdout', line)) taken += 1;
    expect(taken).toBeLessThan(2048);
    await writer.drained();
    expect(writer.write('stdout', line)).toBe(true);
    await writer.drained();
    const before = records().length;
    writer.take('stderr', Readable.from(Array.from({ length: 5_000 }, () => line)));
    await writer.close();
    expect(records()).toHaveLength(before + 5_000);
  });

  it('loses what the disk does not take, says so when it can, and never fails', async () => {
    // A file where the directory should be stands for a disk that takes nothing.
    mkdirSync(dirname(directory), { recursive: true });
    writeFileSync(directory, '');
    const writer = await open();
    writer.write('stdout', Buffer.from('one\ntwo\n'));
    await writer.drained();
    rmSync(directory);
    writer.write('stdout', Buffer.from('three\n'));
    await writer.close();
    const [note, three] = records();
    expect(note).toMatchObject({ stream: 'berth' });
    expect(note?.message).toContain('up to 2 lines were not kept');
    expect(three).toMatchObject({ stream: 'stdout', message: 'three' });
  });

  it('makes files that others than its group cannot read', async () => {
    const writer = await open();
    writer.write('stdout', Buffer.from('secret\n'));
    await writer.close();
    expect(statSync(join(directory, '1-1.jsonl')).mode & 0o007).toBe(0);
  });
});

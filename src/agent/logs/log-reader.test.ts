import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { scratchDirectory } from '../../../testing/scratch.js';
import { realEnv } from '../../env/real.js';
import type { LogOptions } from '../../model/sessions.js';
import { logDirectory } from './log-files.js';
import { LogReader } from './log-reader.js';
import { type LogLabels, parseRecord } from '../../model/log-record.js';
import { LogWriter } from './log-writer.js';

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
const at = (second: number): string => `2026-01-01T00:00:0${second}.000Z`;

describe('LogReader', () => {
  const env = realEnv();
  let scratch: ReturnType<typeof scratchDirectory>;
  beforeEach(() => {
    scratch = scratchDirectory('log-reader');
  });
  afterEach(() => scratch.remove());

  const writer = (execution: number, bytesMax = 1 << 20, filesMax = 100) =>
    LogWriter.open({ dir: scratch.path, labels: { ...labels, execution }, bytesMax, filesMax, env });
  const lines = (options: LogOptions = {}, isOver = () => true, signal = new AbortController().signal) =>
    new LogReader({ dir: scratch.path, env }).read({ replica: labels, options, isOver, signal });
  const messages = async (options: LogOptions = {}): Promise<string[]> => {
    const all: string[] = [];
    for await (const line of lines(options)) all.push(parseRecord(line)?.message ?? '?');
    return all;
  };

  it('reads the last execution, the one before it, a tail of it, or what was written since', async () => {
    for (const execution of [1, 2, 3]) {
      const log = await writer(execution);
      for (let second = 1; second <= 4; second++)
        log.write('stdout', Buffer.from(`${execution}.${second}\n`), at(second));
      await log.close();
    }
    expect(await messages()).toEqual(['3.1', '3.2', '3.3', '3.4']);
    expect(await messages({ isPrevious: true })).toEqual(['2.1', '2.2', '2.3', '2.4']);
    expect(await messages({ tailLines: 2 })).toEqual(['3.3', '3.4']);
    expect(await messages({ tailLines: 0 })).toEqual([]);
    expect(await messages({ sinceMs: Date.parse(at(3)) })).toEqual(['3.3', '3.4']);
    expect(await messages({ isPrevious: true, tailLines: 1 })).toEqual(['2.4']);
  });

  it.each([1, 7, 50, 499, 500, 1000])('finds the last %d lines across many files', async (tailLines) => {
    const log = await writer(1, 2_000);
    for (let number = 0; number < 500; number++) {
      log.write('stdout', Buffer.from(`${number}\n`));
      if (number % 7 === 0) await log.drained();
    }
    await log.close();
    expect(readdirSync(logDirectory(scratch.path, labels)).length).toBeGreaterThan(10);
    const wanted = Array.from({ length: 500 }, (_, number) => String(number)).slice(-tailLines);
    expect(await messages({ tailLines })).toEqual(wanted);
  });

  it('says that nothing is kept, rather than nothing', async () => {
    await expect(messages()).rejects.toMatchObject({ code: 'NotFound' });
    const log = await writer(1);
    log.write('stdout', Buffer.from('x\n'));
    await log.close();
    await expect(messages({ isPrevious: true })).rejects.toMatchObject({ code: 'NotFound' });
  });

  it('follows from before the first line through new files and a restart to the end, each line once', async () => {
    let isOver = false;
    const told: string[] = [];
    const reading = (async () => {
      for await (const line of lines({ isFollowed: true }, () => isOver))
        told.push(parseRecord(line)?.message ?? '?');
    })();
    const wanted: string[] = [];
    for (const execution of [1, 2]) {
      const log = await writer(execution, 1_000);
      for (let number = 0; number < 200; number++) {
        wanted.push(`${execution}.${number}`);
        log.write('stdout', Buffer.from(`${execution}.${number}\n`));
        if (number % 10 === 0) await log.drained();
      }
      await log.close();
      // Who comes when there is a second execution is told of that alone.
      await vi.waitFor(() => expect(told).not.toEqual([]), { timeout: 30_000 });
    }
    isOver = true;
    await reading;
    expect(told).toEqual(wanted);
  });

  it('goes on after files that were removed before they were read, and says so', async () => {
    const log = await writer(1, 500);
    for (let number = 0; number < 50; number++) {
      log.write('stdout', Buffer.from(`${number}\n`));
      await log.drained();
    }
    await log.close();
    const reading = lines();
    const told = [(await reading.next()).value];
    const directory = logDirectory(scratch.path, labels);
    // All but the one being read and the last.
    const names = readdirSync(directory).filter((name) => name !== '1-1.jsonl');
    const newest = Math.max(...names.map((name) => Number(/-(\d+)/.exec(name)?.[1])));
    for (const name of names) if (name !== `1-${newest}.jsonl`) rmSync(join(directory, name));
    for await (const line of reading) told.push(line);
    const records = told.map((line) => parseRecord(line ?? ''));
    expect(records.at(-1)?.message).toBe('49');
    expect(records.map((record) => record?.stream)).not.toContain(undefined);
    expect(records.filter((record) => record?.stream === 'berth')).toHaveLength(1);
  });

  it('stops following when nobody reads any more', async () => {
    const log = await writer(1);
    log.write('stdout', Buffer.from('x\n'));
    await log.close();
    const gone = new AbortController();
    const reading = lines({ isFollowed: true }, () => false, gone.signal);
    expect((await reading.next()).done).toBe(false);
    const next = reading.next();
    gone.abort();
    expect((await next).done).toBe(true);
  });
});

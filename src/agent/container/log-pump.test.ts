import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { scratchDirectory } from '../../../testing/scratch.js';
import { realEnv } from '../../env/real.js';
import { bytesOf, type LogLabels, parseRecord } from '../../model/log-record.js';
import { KeptLogs } from '../logs/kept-logs.js';
import { LogPump } from './log-pump.js';

const labels: LogLabels = {
  ...{ tenant: 't', workload: 'w', replica: 'w-0-1', uid: 'u1', slot: '0', execution: 1, node: 'n' },
};

const framed = (text: string): Buffer => {
  const head = Buffer.alloc(8);
  head.writeUInt8(1, 0);
  head.writeUInt32BE(Buffer.byteLength(text), 4);
  return Buffer.concat([head, Buffer.from(text)]);
};

it('no line of a container is there twice after a restart, however many its engine tells of one second', async () => {
  const scratch = scratchDirectory('log-pump');
  const env = realEnv();
  const logs = new KeptLogs({ dir: scratch.path, env, isLive: () => true });
  const lines = Array.from({ length: 15_000 }, (_, index) => `2026-01-01T00:00:00Z line ${index}\n`);
  const engine = {
    // A parsed boundary: the answer of an engine is read and nothing else.
    logs: () => Promise.resolve(Readable.from(lines.map(framed)) as unknown as IncomingMessage),
  };
  try {
    for (let life = 1; life <= 2; life++)
      await (await LogPump.open({ engine, logs, env }, 'c', labels)).finish();
    const read: string[] = [];
    const query = { replica: labels, options: {}, isOver: () => true, signal: new AbortController().signal };
    for await (const line of logs.read(query)) {
      const record = parseRecord(line);
      if (record !== undefined) read.push(bytesOf(record).toString());
    }
    expect({ all: read.length, distinct: new Set(read).size }).toEqual({ all: 15_000, distinct: 15_000 });
  } finally {
    scratch.remove();
  }
}, 60_000);

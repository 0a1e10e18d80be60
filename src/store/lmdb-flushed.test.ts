import { describe, expect, it } from 'vitest';
import { scratchDirectory } from '../../testing/scratch.js';
import { fixturePath } from '../../testing/run-process.js';
import { straceNode } from '../../testing/strace.js';

interface Call {
  readonly name: string;
  readonly words: string;
  readonly startLine: number;
  readonly endLine: number;
  readonly result: string;
}

/** Puts the two halves of calls that other threads interrupted together again. */
function parseTrace(trace: readonly string[]): Call[] {
  const calls: Call[] = [];
  const open = new Map<string, { name: string; words: string; startLine: number }>();
  for (const [line, text] of trace.entries()) {
    const resumed = /^(\d+) +<\.\.\. (\w+) resumed>.*= (-?\d+)/.exec(text);
    const begun = /^(\d+) +(\w+)\((.*) <unfinished \.\.\.>$/.exec(text);
    const whole = /^(\d+) +(\w+)\((.*)\) += (-?\d+)/.exec(text);
    if (resumed !== null) {
      const started = open.get(resumed[1] ?? '');
      if (started !== undefined) calls.push({ ...started, endLine: line, result: resumed[3] ?? '' });
    } else if (begun !== null) {
      open.set(begun[1] ?? '', { name: begun[2] ?? '', words: begun[3] ?? '', startLine: line });
    } else if (whole !== null) {
      calls.push({
        name: whole[2] ?? '',
        words: whole[3] ?? '',
        startLine: line,
        endLine: line,
        result: whole[4] ?? '',
      });
    }
  }
  return calls.toSorted((a, b) => a.startLine - b.startLine);
}

/**
 * For every acknowledgement, in the order of the kernel's calls: the page with its marker was written to the
 * data file, then the file was synced, then lmdb's meta page was written through a descriptor that syncs each
 * write, and only then the acknowledgement left the process. Returns the ones for which that is not so.
 */
function acknowledgedTooEarly(trace: readonly string[]): { acknowledged: number; early: string[] } {
  const calls = parseTrace(trace);
  const syncing = new Set<string>();
  for (const call of calls) {
    if (call.name === 'openat' && call.words.includes('data.mdb') && call.words.includes('O_DSYNC'))
      syncing.add(call.result);
  }
  const descriptorOf = (call: Call): string => /^(\d+)/.exec(call.words)?.[1] ?? '';
  const ofData = calls.filter((call) => call.words.includes('/data.mdb>') && call.result !== '-1');
  const dataWrites = ofData.filter((call) => /write/.test(call.name) && !syncing.has(descriptorOf(call)));
  const metaWrites = ofData.filter((call) => /write/.test(call.name) && syncing.has(descriptorOf(call)));
  const syncs = ofData.filter((call) => /^f(data)?sync$/.test(call.name));
  const after = (list: readonly Call[], line: number): Call | undefined =>
    list.find((call) => call.startLine > line);

  let acknowledged = 0;
  const early: string[] = [];
  for (const call of calls) {
    const marker = /^1<.*"ack (<txn-\d+-\d+>) Committed/.exec(call.words)?.[1];
    if (call.name !== 'write' || marker === undefined) continue;
    acknowledged += 1;
    const written = dataWrites.find((write) => write.words.includes(marker));
    const synced = written && after(syncs, written.endLine);
    const sealed = synced && after(metaWrites, synced.endLine);
    if (sealed === undefined || sealed.endLine >= call.startLine) early.push(marker);
  }
  return { acknowledged, early };
}

const traceWith = async (sync: 'flush' | 'none'): Promise<ReturnType<typeof acknowledgedTooEarly>> => {
  const scratch = scratchDirectory('flushed');
  try {
    const ran = await straceNode(
      ['-y', '-s', '8192', '-e', 'trace=openat,write,writev,pwrite64,pwritev,fsync,fdatasync,msync'],
      [fixturePath(import.meta.url, 'lmdb-flushed.fixture.js'), scratch.path, sync],
    );
    expect(ran.stderr).toBe('');
    expect(ran.status).toBe(0);
    return acknowledgedTooEarly(ran.trace);
  } finally {
    scratch.remove();
  }
};

describe('the lmdb store under strace, with 64 concurrent writers', () => {
  it('acknowledges nothing before the sync of its batch', async () => {
    expect(await traceWith('flush')).toEqual({ acknowledged: 320, early: [] });
  }, 60_000);

  it('is caught acknowledging too early when syncing is switched off', async () => {
    const { acknowledged, early } = await traceWith('none');
    expect(acknowledged).toBe(320);
    expect(early).toHaveLength(320);
  }, 60_000);
});

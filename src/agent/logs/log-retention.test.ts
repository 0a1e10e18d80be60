import { existsSync, utimesSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { scratchDirectory } from '../../../testing/scratch.js';
import { realEnv } from '../../env/real.js';
import { wallMs } from '../../env/instant.js';
import { logDirectory } from './log-files.js';
import { type KeptLog, LogRetention, logsToRemove } from './log-retention.js';
import { LogWriter } from './log-writer.js';

const log = (uid: string, bytes: number, changedMs: number): KeptLog => ({
  path: uid,
  uid,
  bytes,
  changedMs,
});

describe('what is kept of logs', () => {
  const limits = { ageMsMax: 100, bytesMax: 50 };
  it.each([
    ['young and small ones stay', [log('a', 10, 950), log('b', 10, 960)], []],
    ['old ones go', [log('a', 10, 850), log('b', 10, 960)], ['a']],
    ['of those that are too much the oldest go first', [log('a', 30, 970), log('b', 30, 960)], ['b']],
    ['no more go than must', [log('a', 30, 970), log('b', 20, 960), log('c', 10, 950)], ['c']],
    ['those of replicas that are here stay', [log('live', 60, 1), log('b', 10, 990)], ['b']],
  ])('%s', (_, logs, gone) => {
    expect(logsToRemove(logs, (uid) => uid === 'live', 1_000, limits).map(({ uid }) => uid)).toEqual(gone);
  });

  it('is swept from the disk', async () => {
    const scratch = scratchDirectory('log-retention');
    const env = realEnv();
    const open = async (uid: string) => {
      const labels = {
        tenant: 't',
        workload: 'w',
        replica: 'w-0-1',
        uid,
        slot: '0',
        execution: 1,
        node: 'n',
      };
      const writer = await LogWriter.open({ dir: scratch.path, labels, bytesMax: 1_000, filesMax: 2, env });
      writer.write('stdout', Buffer.from('x\n'));
      await writer.close();
      return logDirectory(scratch.path, labels);
    };
    const [old, live, young] = [await open('old'), await open('live'), await open('young')];
    const longAgo = (wallMs(env.clock.wall()) - 3_600_000) / 1_000;
    for (const path of [old, live]) utimesSync(`${path}/1-1.jsonl`, longAgo, longAgo);
    const retention = new LogRetention({
      ...{ dir: scratch.path, env, limits: { ageMsMax: 60_000, bytesMax: 1_000_000 } },
      isLive: (uid) => uid === 'live',
    });
    expect(await retention.sweep()).toBe(1);
    expect([old, live, young].map((path) => existsSync(path))).toEqual([false, true, true]);
    scratch.remove();
  });
});

import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { scratchDirectory } from '../../../testing/scratch.js';
import { realEnv } from '../../env/real.js';
import { type AuditEntry, type AuditLimits, AuditLog } from './audit-log.js';

const env = realEnv();
let scratch: ReturnType<typeof scratchDirectory>;
let dir: string;
let log: AuditLog;
beforeEach(() => {
  scratch = scratchDirectory('audit');
  dir = join(scratch.path, 'audit');
  log = make();
});
afterEach(async () => {
  await log.close();
  scratch.remove();
});

const make = (limits: Partial<AuditLimits> = {}): AuditLog =>
  new AuditLog({ env, dir, limits: { fileBytesMax: 1e6, filesMax: 3, waitingMax: 1000, ...limits } });

const entry = (changes: Partial<AuditEntry> = {}): AuditEntry => ({
  who: 'tenant:fraud:editor',
  verb: 'update',
  kind: 'Workload',
  namespace: 'fraud',
  name: 'web',
  outcome: 200,
  revisionBefore: '41',
  revisionAfter: '42',
  requestId: 'r-1',
  sourceIP: '127.0.0.1',
  ...changes,
});

const text = (name = 'audit.log'): string => readFileSync(join(dir, name), 'utf8');
const lines = (name = 'audit.log'): Record<string, unknown>[] =>
  text(name)
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe('the audit log', () => {
  it('has one line per mutation, in order, for the owner’s eyes only', async () => {
    log.record(entry());
    log.record(entry({ verb: 'delete', subresource: 'status', outcome: 409 }));
    await log.flush();
    expect(lines()).toEqual([
      { at: expect.stringMatching(/^\d{4}-.*Z$/) as string, ...entry() },
      { at: expect.any(String) as string, ...entry({ verb: 'delete', subresource: 'status', outcome: 409 }) },
    ]);
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    expect(statSync(join(dir, 'audit.log')).mode & 0o777).toBe(0o600);
    expect(log.health()).toEqual({ written: 2, waiting: 0, lost: 0, failures: 0 });
  });

  it('keeps out whatever else an entry’s object carries, and breaks no line', async () => {
    const careless = {
      ...entry({ name: 'a\n{"who":"admin"}\u2028', requestId: 'x'.repeat(5000) }),
      body: { password: 'hunter2' },
      headers: { authorization: 'Bearer berth_secret' },
    };
    log.record(careless);
    await log.flush();
    expect(text()).not.toMatch(/hunter2|berth_secret|authorization|body/);
    expect(lines()).toHaveLength(1);
    expect(lines()[0]?.['name']).toBe('a\n{"who":"admin"}\u2028');
    expect(String(lines()[0]?.['requestId'])).toHaveLength(513);
  });

  it('goes on after the lines of an earlier process, also one that died in the middle of a line', async () => {
    mkdirSync(dir);
    writeFileSync(join(dir, 'audit.log'), `${JSON.stringify({ old: 1 })}\n{"who":"adm`);
    log.record(entry());
    await log.flush();
    const [first, torn, mine] = text().split('\n');
    expect([first, torn]).toEqual(['{"old":1}', '{"who":"adm']);
    expect(JSON.parse(mine ?? '')).toMatchObject({ who: 'tenant:fraud:editor' });
  });

  it('rotates by size and keeps a bounded number of files', async () => {
    const bytes = 2000;
    log = make({ fileBytesMax: bytes });
    for (let count = 0; count < 100; count++) log.record(entry({ requestId: `r-${count}` }));
    await log.close();
    expect(readdirSync(dir)).toEqual(['audit.log', 'audit.log.1', 'audit.log.2']);
    for (const name of readdirSync(dir)) expect(statSync(join(dir, name)).size).toBeLessThanOrEqual(bytes);
    const kept = ['audit.log.2', 'audit.log.1', 'audit.log'].flatMap((name) => lines(name));
    const ids = kept.map((line) => String(line['requestId']));
    // The newest, without a gap.
    expect(ids).toEqual(ids.map((_, index) => `r-${100 - ids.length + index}`));
    expect(ids.length).toBeGreaterThan(10);
    expect(log.health()).toMatchObject({ written: 100, lost: 0 });
  });

  it('can keep a single file, and gives a line that is too long a file of its own', async () => {
    log = make({ fileBytesMax: 10, filesMax: 1 });
    for (const requestId of ['a', 'b', 'c']) log.record(entry({ requestId }));
    await log.close();
    expect(readdirSync(dir)).toEqual(['audit.log']);
    expect(lines()).toMatchObject([{ requestId: 'c' }]);
  });

  it('writes what is recorded at once in few writes, and lets others run meanwhile', async () => {
    let turns = 0;
    let isDone = false;
    const others = (async () => {
      while (!isDone) {
        await env.yield();
        turns += 1;
      }
    })();
    for (let count = 0; count < 1000; count++) log.record(entry());
    await log.flush();
    isDone = true;
    await others;
    expect(turns).toBeGreaterThan(2);
    expect(lines()).toHaveLength(1000);
  });

  it('writes what waits when it is closed, and counts what comes later as lost', async () => {
    log.record(entry());
    await log.close();
    log.record(entry());
    expect(lines()).toHaveLength(1);
    expect(log.health()).toMatchObject({ written: 1, lost: 1 });
  });
});

describe('a disk that fails', () => {
  it('shows in the health and not in requests; lines wait, and are written once each when it is back', async () => {
    log.record(entry({ requestId: 'before' }));
    await log.flush();
    renameSync(dir, `${dir}.away`);
    writeFileSync(dir, 'in the way');
    log.record(entry({ requestId: 'during' }));
    await log.flush();
    expect(log.health()).toMatchObject({ written: 1, waiting: 1, lost: 0, failures: 1 });
    expect(log.health().lastError?.message).toContain('ENOTDIR');
    rmSync(dir);
    renameSync(`${dir}.away`, dir);
    log.record(entry({ requestId: 'after' }));
    await log.flush();
    expect(lines().map((line) => line['requestId'])).toEqual(['before', 'during', 'after']);
    expect(log.health()).toMatchObject({ written: 3, waiting: 0, lost: 0, failures: 1 });
  });

  it('is tried again without anybody asking', async () => {
    writeFileSync(dir, 'in the way');
    log.record(entry());
    while (log.health().failures === 0) await env.sleep(5);
    rmSync(dir);
    while (log.health().written === 0) await env.sleep(20);
    expect(lines()).toHaveLength(1);
  });

  it('that is full loses only what passes the bound, and says how much', async () => {
    log = make({ waitingMax: 5 });
    mkdirSync(dir);
    symlinkSync('/dev/full', join(dir, 'audit.log'));
    for (let count = 0; count < 8; count++) log.record(entry());
    await log.flush();
    expect(log.health()).toMatchObject({ written: 0, waiting: 5, lost: 3, failures: 1 });
    expect(log.health().lastError?.message).toContain('ENOSPC');
    await log.close();
    expect(log.health()).toMatchObject({ written: 0, waiting: 0, lost: 8 });
  });

  it('whose log is removed gets a new one', async () => {
    log.record(entry());
    await log.flush();
    rmSync(dir, { recursive: true });
    log.record(entry({ requestId: 'new' }));
    await log.flush();
    expect(lines()).toMatchObject([{ requestId: 'new' }]);
  });
});

import { describe, expect, it } from 'vitest';
import { containerEnd, pullFailure, startFailure } from './container-end.js';
import { hardLimit } from './machine-limits.js';
import { isOutOfMemory } from './oom-evidence.js';
import { PullProgress, pullPolicyOf } from './pull-policy.js';
import { StreamFrames, timedLine } from './stream-frames.js';

const state = { status: 'exited', isRunning: false, exitCode: 0, isOutOfMemory: false, error: '' };

describe('why a container is over', () => {
  it.each([
    ['it ended by itself', state, false, { reason: 'Exited', exitCode: 0 }],
    ['it failed', { ...state, exitCode: 3 }, false, { reason: 'Exited', exitCode: 3 }],
    ['somebody killed it', { ...state, exitCode: 137 }, false, { reason: 'Killed', exitCode: 137 }],
    ['it was asked to', { ...state, exitCode: 143 }, true, { reason: 'Stopped', exitCode: 143 }],
    ['it needed too much', { ...state, exitCode: 137, isOutOfMemory: true }, true, { reason: 'OutOfMemory' }],
    ['nobody knows it', undefined, false, { reason: 'ExitUnknown' }],
  ])('%s', (_, given, wasAsked, end) => {
    expect(containerEnd(given, wasAsked)).toMatchObject(end);
  });

  it.each([
    [
      'runc: exec: "/x": stat /x: no such file or directory: OCI runtime attempted to invoke a command that was not found',
      'CommandNotFound',
    ],
    ['exec: "x": executable file not found in $PATH', 'CommandNotFound'],
    ['cannot set up namespace', 'StartFailed'],
  ])('the engine could not start it: %s', (message, reason) => {
    expect(startFailure(message).reason).toBe(reason);
  });

  it.each([
    ['reading manifest none in 127.0.0.1:5/app: manifest unknown', 'ImageNotFound'],
    ['pull access denied for x, repository does not exist or may require login', 'ImageNotFound'],
    ['dial tcp: lookup registry on 10.0.0.1:53: no such host', 'ImagePullFailed'],
    ['dial tcp 127.0.0.1:1: connect: connection refused', 'ImagePullFailed'],
  ])('the registry does not give its image: %s', (message, reason) => {
    expect(pullFailure('app:1', message)).toMatchObject({ reason, message: `app:1: ${message}` });
  });
});

describe('pulling', () => {
  it.each([
    ['app', 'Always'],
    ['app:latest', 'Always'],
    ['host:5000/app', 'Always'],
    ['app:1', 'IfNotPresent'],
    ['host:5000/app:1', 'IfNotPresent'],
    ['app@sha256:00', 'IfNotPresent'],
  ])('of %s is asked for: %s', (image, policy) => {
    expect(pullPolicyOf({ image })).toBe(policy);
    expect(pullPolicyOf({ image, pullPolicy: 'Never' })).toBe('Never');
  });

  it('says how far it is', () => {
    const progress = new PullProgress();
    progress.take({ status: 'Pulling from app' });
    expect(progress.toString()).toBe('Pulling from app');
    progress.take({ id: 'a', status: 'Downloading', progressDetail: { current: 1e6, total: 4e6 } });
    progress.take({ id: 'b', status: 'Downloading', progressDetail: { current: 2e6, total: 6e6 } });
    progress.take({ id: 'a', status: 'Downloading', progressDetail: { current: 4e6, total: 4e6 } });
    expect(progress.toString()).toBe('6.0 of 10.0 MB');
  });
});

describe('what engines and the kernel say', () => {
  it('is cut into lines of two streams, however it comes, with the time of each', () => {
    const frame = (stream: number, text: string): Buffer => {
      const head = Buffer.from([stream, 0, 0, 0, 0, 0, 0, 0]);
      head.writeUInt32BE(text.length, 4);
      return Buffer.concat([head, Buffer.from(text)]);
    };
    const wire = Buffer.concat([frame(1, '2026-01-01T00:00:00Z a\n'), frame(2, 'b')]);
    const frames = new StreamFrames();
    const got = [...wire].flatMap((byte) => frames.take(Buffer.from([byte])));
    expect(got.map(({ stream, bytes }) => `${stream} ${bytes.toString()}`)).toEqual([
      'stdout 2026-01-01T00:00:00Z a\n',
      'stderr b',
    ]);
    const line = timedLine(got[0]?.bytes ?? Buffer.alloc(0));
    expect([line?.time, line?.rest.toString()]).toEqual(['2026-01-01T00:00:00Z', 'a\n']);
    expect(timedLine(Buffer.from('no time'))).toBeUndefined();
  });

  it('names the container that memory was short in', () => {
    const record =
      '6,1;oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/x,task_memcg=/p/libpod-abc,task=tail,pid=1';
    expect(isOutOfMemory(record, 'abc')).toBe(true);
    expect(isOutOfMemory(record, 'def')).toBe(false);
    expect(isOutOfMemory('6,1;something about abc', 'abc')).toBe(false);
  });

  it('has limits with and without a number', () => {
    const limits =
      'Max processes             unlimited            unlimited            processes\nMax open files            1024                 4096                 files\n';
    expect(hardLimit(limits, 'Max open files')).toBe(4096);
    expect(hardLimit(limits, 'Max processes')).toBe(Number.MAX_SAFE_INTEGER);
  });
});

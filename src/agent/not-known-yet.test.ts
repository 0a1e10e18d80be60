import { expect, it } from 'vitest';
import type { Driver, Found } from './driver.js';
import { binding, openSessionOver } from './session.fixture.js';

/** A machine that cannot say yet what there is on it. */
class MuteMachine implements Driver {
  readonly canFence = true;
  readonly stops: string[] = [];
  there: readonly string[] = [];
  isMute = true;
  onFound = (): void => undefined;

  attach(_: unknown, onFound: () => void): void {
    this.onFound = onFound;
  }
  adopt({ replica }: { readonly replica: { readonly uid: string } }): Found {
    if (this.isMute) return 'NotKnown';
    return this.there.includes(replica.uid) ? 'Ready' : 'Gone';
  }
  list(): Iterable<string> {
    return this.isMute ? [] : this.there;
  }
  start(): void {}
  stop(uid: string): void {
    this.stops.push(uid);
  }
  forget(): void {}
  permit(): void {}
}

it('[S5] nothing is said of a replica before its machine can say what there is of it; then it is said', async () => {
  const { streams, driver, run } = openSessionOver(() => new MuteMachine());
  await run(10);
  const stages = { runs: 'Unknown', ended: 'Ready', stays: 'Ready' } as const;
  streams.tellWhole(...Object.entries(stages).map(([uid, stage]) => binding(uid, { stage })));
  await run(60_000);
  expect(streams.reports).toEqual([]);
  driver.isMute = false;
  driver.there = ['runs', 'stays', 'unwanted'];
  driver.onFound();
  await run(10);
  expect(streams.reports).toEqual(['runs Ready ReadyOnNode', 'ended Failed NotRunning']);
  expect(driver.stops).toEqual(['unwanted']);
});

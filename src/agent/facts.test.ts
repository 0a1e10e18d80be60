import { describe, expect, it } from 'vitest';
import type { DriverEvent } from './driver.js';
import { binding, openSessionOver } from './session.fixture.js';

/** A session above a driver that only says what a test has it say. */
function openTold() {
  let onEvent: (event: DriverEvent) => void = () => undefined;
  const opened = openSessionOver(() => ({
    canFence: true,
    attach: (ears) => void (onEvent = ears),
    adopt: () => 'Gone' as const,
    list: () => [],
    start: () => undefined,
    stop: () => undefined,
    forget: () => undefined,
    permit: () => undefined,
  }));
  const { streams, run } = opened;
  let version = 10;
  let answered = 0;
  /** Lets time pass; whatever is reported meanwhile is committed. */
  const pass = async (ms: number): Promise<void> => {
    const endMs = opened.time.nowMs + ms;
    while (opened.time.nowMs < endMs) {
      await run(50);
      if (streams.reports.length === answered) continue;
      answered = streams.reports.length;
      streams.answer((version += 1));
    }
  };
  const said = () => streams.said.flatMap((each) => (each.kind === 'report' ? [each.report] : []));
  return { ...opened, pass, said, happen: (event: DriverEvent) => onEvent(event) };
}

const started: DriverEvent = { kind: 'Started', uid: 'a', driverId: 'd', executions: 1, address: '10.0.0.1' };

async function openReady() {
  const told = openTold();
  await told.pass(100);
  told.streams.tellWhole(binding('a'));
  await told.pass(500);
  told.happen(started);
  await told.pass(100);
  told.happen({ kind: 'Ready', uid: 'a' });
  await told.pass(500);
  return told;
}

describe('what an agent says of a replica beside its stage', () => {
  it('goes along with the move to the next stage', async () => {
    const { said } = await openReady();
    expect(
      said().map(({ stage, driverId, executions, address }) => [stage, driverId, executions, address]),
    ).toEqual([
      ['Starting', undefined, undefined, undefined],
      ['Ready', 'd', 1, '10.0.0.1'],
    ]);
  });

  it('[L6] is said alone when no move comes soon: the step that lasts, and what is wrong', async () => {
    const { said, pass, happen, streams } = openTold();
    await pass(100);
    streams.tellWhole(binding('a'));
    await pass(500);
    happen({ kind: 'Step', uid: 'a', step: 'Pulling', message: 'busybox' });
    await pass(3_000);
    expect(said().at(-1)).toMatchObject({ stage: 'Starting', step: 'Pulling', message: 'busybox' });
    happen(started);
    happen({ kind: 'Ready', uid: 'a' });
    await pass(500);
    expect(said().at(-1)).toMatchObject({ stage: 'Ready', step: '', message: '', driverId: 'd' });
  });

  it('is said at once when readiness is lost, and again when it is back', async () => {
    const { said, pass, happen } = await openReady();
    await pass(10_000);
    happen({ kind: 'NotReady', uid: 'a', message: 'answered with 503' });
    await pass(200);
    expect(said().at(-1)).toMatchObject({
      stage: 'Ready',
      readiness: { isPassing: false, message: 'answered with 503' },
    });
    happen({ kind: 'Ready', uid: 'a' });
    await pass(6_000);
    expect(said().at(-1)).toMatchObject({ stage: 'Ready', readiness: { isPassing: true } });
    expect(said()).toHaveLength(4);
  });

  it('[L8] is said a bounded number of times by a probe that flaps and by a pull that goes on', async () => {
    const { said, pass, happen } = await openReady();
    const before = said().length;
    for (let flap = 0; flap < 300; flap++) {
      happen(flap % 2 === 0 ? { kind: 'NotReady', uid: 'a', message: 'no' } : { kind: 'Ready', uid: 'a' });
      await pass(100);
    }
    expect(said().length - before).toBeLessThanOrEqual(8);
    await pass(10_000);
    happen({ kind: 'Step', uid: 'a', step: 'Restarting', message: 'exited with 1' });
    await pass(200);
    expect(said().at(-1)).toMatchObject({ stage: 'Starting', reason: 'Restarted', step: 'Restarting' });
    const pulled = said().length;
    for (let percent = 0; percent < 100; percent++) {
      happen({ kind: 'Step', uid: 'a', step: 'Pulling', message: `${percent} %` });
      await pass(300);
    }
    expect(said().length - pulled).toBeGreaterThanOrEqual(3);
    expect(said().length - pulled).toBeLessThanOrEqual(8);
    await pass(6_000);
    expect(said().at(-1)).toMatchObject({ message: '99 %' });
  });
});

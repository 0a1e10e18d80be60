import { describe, expect, it } from 'vitest';
import { bootInstant } from '../env/instant.js';
import type { Registered } from '../model/ports.js';
import { binding, openSession } from './session.fixture.js';

const at = (number: number) => ({ cell: 1, number });
const registered = (result: Registered) => ({ kind: 'Committed', result, revision: '1' }) as const;
const far = bootInstant(10_000_000);
const before = { knownSince: at(4), version: 10 };

describe('[S5] what was bound before the journal of an agent began', () => {
  const open = () => openSession(registered({ epoch: at(5), journalSince: at(5) }));

  it.each(['Bound', 'Starting', 'Ready', 'Serving', 'Unknown', 'Releasing'] as const)(
    'is neither started, refused nor said to be over: %s',
    async (stage) => {
      const { streams, run, driver } = open();
      await run(10);
      streams.tellWhole(binding('a', { ...before, stage }));
      await run(5_000);
      streams.tell(
        binding('a', { ...before, stage: 'Unknown', intent: { reason: 'NoReport' }, version: 20 }),
      );
      await run(5_000);
      expect([streams.reports, [...driver.list()]]).toEqual([[], []]);
    },
  );

  it('is said to be over if it was bound under it, however often the agent has registered since', async () => {
    const { streams, run } = openSession(registered({ epoch: at(5), journalSince: at(3) }));
    await run(10);
    streams.tellWhole(binding('a', { ...before, stage: 'Ready' }));
    await run(10);
    expect(streams.reports).toEqual(['a Failed NotRunning']);
    expect(streams.said.at(-1)).not.toHaveProperty('report.isKnown');
  });

  it('is spoken of as known if the machine has it, and ended if it is fenced: another had the name meanwhile', async () => {
    const { streams, run, driver } = open();
    const known = { ...before, stage: 'Ready' } as const;
    driver.start(binding('plain', known));
    driver.start(binding('fenced', { ...known, isFenced: true }));
    driver.permit({ startUntil: far, killAt: far, overAt: far });
    await run(5_000);
    streams.tellWhole(binding('plain', { ...before, stage: 'Unknown' }));
    await run(10);
    expect(streams.reports).toEqual(['plain Ready ReadyOnNode']);
    expect(streams.said.at(-1)).toHaveProperty('report.isKnown', true);
    streams.answer(11);
    streams.tell(binding('fenced', { ...known, isFenced: true }));
    await run(10_000);
    expect(streams.reports.at(-1)).toBe('fenced Failed Stopped');
    expect([...driver.list()]).toEqual(['plain']);
  });
});

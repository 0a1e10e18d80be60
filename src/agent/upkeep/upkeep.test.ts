import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../../env/random.js';
import {
  type Act,
  dueAtMs,
  type Happening,
  newUpkeep,
  nextUpkeep,
  type Upkeep,
  type UpkeepRules,
} from './upkeep.js';

const rules: UpkeepRules = {
  ...{ type: 'Service', budget: 5, windowMs: 600_000, startDeadlineMs: 300_000, hasReadiness: true },
  graceSeconds: 8,
};
const fresh = newUpkeep(0);
const ready: Upkeep = { ...fresh, at: { kind: 'Running' }, startingSinceMs: undefined };
const waiting: Upkeep = { ...fresh, at: { kind: 'Running' } };
const resting: Upkeep = {
  ...fresh,
  at: { kind: 'Resting', untilMs: 5_000, last: { reason: 'Exited', exitCode: 1 } },
};
const asked: Upkeep = { ...ready, at: { kind: 'Ending', ending: { why: 'Asked' } } };
const sick: Upkeep = { ...ready, at: { kind: 'Ending', ending: { why: 'LivenessFailed', message: 'dead' } } };
const late: Upkeep = {
  ...waiting,
  at: { kind: 'Ending', ending: { why: 'StartDeadlinePassed', message: 'too late' } },
};
const over: Upkeep = { ...ready, at: { kind: 'Over', end: { reason: 'Killed' } } };

const ended = (reason: 'Exited' | 'Stopped' | 'Fenced', exitCode?: number): Happening => ({
  ...{ kind: 'Ended', execution: 1 },
  end: { reason, ...(exitCode !== undefined && { exitCode }) },
});
const running: Happening = { kind: 'Running', execution: 1, driverId: 'd' };

const shown = (act: Act): string => {
  if (act.kind === 'Start') return `Start ${act.execution}`;
  if (act.kind === 'Stop') return `Stop ${act.graceSeconds}`;
  if (act.kind !== 'Tell') return act.kind;
  const { event } = act;
  return event.kind === 'Exited' ? event.reason : event.kind === 'Step' ? `Step ${event.step}` : event.kind;
};

const turn = (
  upkeep: Upkeep,
  happening: Happening,
  more: Partial<UpkeepRules> = {},
  ms = 1_000,
  mayStart = true,
) => {
  const { next, acts } = nextUpkeep(
    upkeep,
    happening,
    { ...rules, ...more },
    { ms, mayStart, random: new SeededRandom('u') },
  );
  return { next, text: [...acts.map(shown), `→ ${next.at.kind}`].join(', ') };
};

describe('keeping a job up', () => {
  it.each<[string, Upkeep, Happening, Partial<UpkeepRules>, string]>([
    ['it runs, and waits for its probe', fresh, running, {}, 'Started, Probe, → Running'],
    [
      'it runs, and has no probe to wait for',
      fresh,
      running,
      { hasReadiness: false },
      'Started, Probe, Ready, → Running',
    ],
    [
      'an image is pulled',
      fresh,
      { kind: 'Step', execution: 1, step: 'Pulling' },
      {},
      'Step Pulling, → Starting',
    ],
    [
      'its probe passes',
      waiting,
      { kind: 'Readiness', isPassing: true, message: '' },
      {},
      'Ready, → Running',
    ],
    [
      'its probe does not pass yet',
      waiting,
      { kind: 'Readiness', isPassing: false, message: 'refused' },
      {},
      'Step WaitingForReadiness, → Running',
    ],
    [
      'its probe passes no more',
      ready,
      { kind: 'Readiness', isPassing: false, message: '503' },
      {},
      'NotReady, → Running',
    ],
    [
      'it is found dead',
      ready,
      { kind: 'LivenessFailed', message: 'dead' },
      {},
      'EndProbes, Stop 8, → Ending',
    ],
    ['it exits', ready, ended('Exited', 1), {}, 'EndProbes, Step Restarting, → Resting'],
    ['it exits before it ran', fresh, ended('Exited', 1), {}, 'EndProbes, Step Restarting, → Resting'],
    ['a batch is done', ready, ended('Exited', 0), { type: 'Batch' }, 'EndProbes, Completed, → Over'],
    ['a batch fails', ready, ended('Exited', 1), { type: 'Batch' }, 'EndProbes, Exited, → Over'],
    ['it may not be restarted', ready, ended('Exited', 1), { budget: 0 }, 'EndProbes, Exited, → Over'],
    ['an older execution is spoken of', { ...ready, execution: 2 }, ended('Exited', 1), {}, '→ Running'],
    [
      'it is asked to stop',
      ready,
      { kind: 'AskedToStop', graceSeconds: 3 },
      {},
      'EndProbes, Stop 3, → Ending',
    ],
    [
      'it is asked to stop while it rests',
      resting,
      { kind: 'AskedToStop', graceSeconds: 3 },
      {},
      'EndProbes, Stopped, → Over',
    ],
    [
      'it is asked to stop while it is ended for another reason',
      sick,
      { kind: 'AskedToStop', graceSeconds: 3 },
      {},
      'EndProbes, Stop 3, → Ending',
    ],
    [
      'it is asked to stop and has ended',
      over,
      { kind: 'AskedToStop', graceSeconds: 3 },
      {},
      'Killed, → Over',
    ],
    ['it stops as it was asked to', asked, ended('Stopped', 143), {}, 'EndProbes, Stopped, → Over'],
    ['it is fenced while it stops', asked, ended('Fenced'), {}, 'EndProbes, Fenced, → Over'],
    ['it is fenced', ready, ended('Fenced'), {}, 'EndProbes, Fenced, → Over'],
    [
      'what was found dead has ended',
      sick,
      ended('Stopped', 143),
      {},
      'EndProbes, Step Restarting, → Resting',
    ],
    [
      'a dead batch has ended',
      sick,
      ended('Stopped', 143),
      { type: 'Batch' },
      'EndProbes, LivenessFailed, → Over',
    ],
    [
      'what was too late has ended',
      late,
      ended('Stopped', 143),
      {},
      'EndProbes, StartDeadlinePassed, → Over',
    ],
    ['it ends twice', over, ended('Exited', 1), {}, '→ Over'],
    ['its probe answers late', resting, { kind: 'Readiness', isPassing: true, message: '' }, {}, '→ Resting'],
  ])('%s', (_, upkeep, happening, more, expected) => {
    expect(turn(upkeep, happening, more).text).toBe(expected);
  });

  it.each<[string, Upkeep, number, boolean, string]>([
    ['nothing before its rest is over', resting, 4_999, true, '→ Resting'],
    ['the next execution after its rest', resting, 5_000, true, 'Start 2, → Starting'],
    ['no execution that is not permitted', resting, 5_000, false, '→ Resting'],
    [
      'the end of one that rests past its deadline',
      resting,
      300_000,
      true,
      'EndProbes, StartDeadlinePassed, → Over',
    ],
    [
      'the end of one that is not ready by its deadline',
      waiting,
      300_000,
      true,
      'EndProbes, Stop 8, → Ending',
    ],
    ['nothing of one that is ready', ready, 900_000, true, '→ Running'],
    ['nothing of one that has ended', over, 900_000, true, '→ Over'],
  ])('time brings %s', (_, upkeep, ms, mayStart, expected) => {
    expect(turn(upkeep, { kind: 'Look' }, {}, ms, mayStart).text).toBe(expected);
  });

  it('[L5] says at which step it was when its time to start was over', () => {
    const pulling = { ...fresh, step: { step: 'Pulling', message: '40 of 90 MB' } };
    const { next } = turn(pulling, { kind: 'Look' }, {}, 300_000);
    expect(next.at).toEqual({
      kind: 'Ending',
      ending: {
        why: 'StartDeadlinePassed',
        message: 'not ready within 300 s; at Pulling: 40 of 90 MB',
      },
    });
  });

  it('counts the time to be ready again from when it stopped being', () => {
    const { next } = turn(ready, ended('Exited', 1), {}, 50_000);
    expect(next.startingSinceMs).toBe(50_000);
    const again = turn({ ...waiting, startingSinceMs: 7 }, ended('Exited', 1), {}, 50_000);
    expect(again.next.startingSinceMs).toBe(7);
  });

  it.each<[string, Upkeep, number, number | undefined]>([
    ['one that starts: its deadline', fresh, 0, 300_000],
    ['one that rests: the end of its rest', resting, 0, 5_000],
    ['one that waits for a permit: its deadline', resting, 5_000, 300_000],
    ['one that is ready: never', ready, 0, undefined],
    ['one that is being ended: never', asked, 0, undefined],
    ['one that has ended: never', over, 0, undefined],
  ])('looks again at %s', (_, upkeep, nowMs, expected) => {
    expect(dueAtMs(upkeep, rules, nowMs)).toBe(expected);
  });
});

import { describe, expect, it } from 'vitest';
import type { Stage } from '../model/stages.js';
import { isEdge, isTerminal, ownsEdge, stages } from '../model/stages.js';
import { type Facts, nextStep, type Running, type Step } from './next-step.js';

const service = { type: 'Service' } as const;
const batch = { type: 'Batch' } as const;
const evicted = { type: 'Service', intent: { reason: 'Drain' } } as const;
const ready: Running = { at: 'Ready', driverId: 'd1', executions: 1 };
const starting: Running = { at: 'Starting', driverId: 'd1', executions: 1 };
const said = { driverId: 'd1', executions: 1 };
const ended = (exitCode: number): Running => ({ at: 'Ended', exitCode, reason: 'Exited' });

const shown = ({ act, say }: Step): string =>
  act ?? (say === undefined ? 'nothing' : `${say.stage} ${say.reason}`);

describe('the next step of an agent', () => {
  it.each<[Running, typeof service | typeof batch | typeof evicted, Stage, string]>([
    [{ at: 'Nothing' }, service, 'Bound', 'start'],
    [{ at: 'Nothing' }, service, 'Releasing', 'refuse'],
    [{ at: 'Nothing' }, evicted, 'Unknown', 'refuse'],
    [{ at: 'Nothing' }, service, 'Unknown', 'refuse'],
    [{ at: 'Refused' }, service, 'Releasing', 'Released NotRunning'],
    [{ at: 'Refused' }, evicted, 'Unknown', 'Released NotRunning'],
    [{ at: 'Refused' }, service, 'Unknown', 'Failed NotRunning'],
    [starting, service, 'Bound', 'Starting Started'],
    [starting, service, 'Starting', 'nothing'],
    [starting, service, 'Unknown', 'Starting Started'],
    [starting, service, 'Serving', 'Starting Restarted'],
    [starting, service, 'Releasing', 'stop'],
    [ready, service, 'Bound', 'Starting Started'],
    [ready, service, 'Starting', 'Ready ReadyOnNode'],
    [ready, service, 'Serving', 'nothing'],
    [ready, service, 'Unknown', 'Ready ReadyOnNode'],
    [ready, evicted, 'Unknown', 'stop'],
    [ready, service, 'Released', 'stop'],
    [{ at: 'Stopping' }, service, 'Releasing', 'nothing'],
    [ended(0), batch, 'Ready', 'Succeeded Exited'],
    [ended(1), batch, 'Ready', 'Failed Exited'],
    [ended(0), service, 'Serving', 'Failed Exited'],
    [ended(143), service, 'Releasing', 'Released Stopped'],
    [ended(143), evicted, 'Unknown', 'Released Stopped'],
    [ended(1), service, 'Failed', 'nothing'],
  ])('of %j, bound as %j and believed to be %s, is: %s', (running, binding, stage, expected) => {
    expect(shown(nextStep(running, binding, stage, true, said))).toBe(expected);
  });

  it('starts nothing while it may not', () => {
    expect(nextStep({ at: 'Nothing' }, service, 'Bound', false)).toEqual({});
  });

  it.each<[string, Running, Facts, Facts | undefined]>([
    ['nothing when nothing is new', ready, said, undefined],
    ['a restart', { ...ready, executions: 2 }, said, { executions: 2 }],
    ['where it listens', { ...ready, address: '10.0.0.7' }, said, { address: '10.0.0.7' }],
    [
      'that it is not ready any more',
      { ...ready, readiness: { isPassing: false, message: 'answered with 503' } },
      said,
      { readiness: { isPassing: false, message: 'answered with 503' } },
    ],
    [
      'that it is again',
      ready,
      { ...said, readiness: { isPassing: false, message: 'answered with 503' } },
      { readiness: { isPassing: true } },
    ],
    [
      'that a step is over',
      ready,
      { ...said, step: 'Pulling', message: '4 of 9' },
      { step: '', message: '' },
    ],
  ])('at the stage where it is believed to be says %s', (_, running, known, news) => {
    const { say } = nextStep(running, service, 'Serving', true, known);
    expect(say).toEqual(news && { stage: 'Serving', reason: 'ReportedOnNode', ...news });
  });

  it('[S6] never says what the graph does not let an agent say', () => {
    const bound = stages.filter((stage) => !['Admitted', 'Queued', 'Scheduled'].includes(stage));
    const all: Running[] = [{ at: 'Nothing' }, { at: 'Refused' }, { at: 'Stopping' }, starting, ready];
    for (const running of [...all, ended(0), ended(1)])
      for (const binding of [service, batch, evicted])
        for (const stage of bound) {
          const { say } = nextStep(running, binding, stage, true);
          // At the stage where it is, facts may always be said.
          if (say === undefined || say.stage === stage) continue;
          expect(isTerminal(stage)).toBe(false);
          const edge = `${running.at}: ${stage} → ${say.stage}`;
          expect([edge, isEdge(stage, say.stage), ownsEdge('agent', stage, say.stage)]).toEqual([
            edge,
            true,
            true,
          ]);
        }
  });
});

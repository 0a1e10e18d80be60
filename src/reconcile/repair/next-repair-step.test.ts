import { describe, expect, it } from 'vitest';
import { fenceContract } from '../../model/fence-contract.js';
import type { Stage } from '../../model/stages.js';
import { judgedTogetherMs } from '../../observe/brake-observer.js';
import {
  answerMs,
  brakeLookMs,
  nextRepairStep,
  type NodeEvidence,
  permitsOf,
  type RepairInput,
  type RepairStep,
  reportSlackMs,
} from './next-repair-step.js';

const second = 1_000;
const silentFor = (seconds: number, more: Partial<NodeEvidence> = {}): NodeEvidence => ({
  ...{ silentMs: seconds * second, leaseMs: 40 * second, leaseRevision: 7, isAttested: false },
  isHeard: seconds <= 40,
  ...more,
});
const heard = silentFor(3);
const usual: RepairInput = {
  ...{ stage: 'Ready', isFenced: false, isAskedToStop: false, isReplaced: false },
  rule: { action: 'Replace', afterSeconds: 45 },
  ...{ node: heard, inStageMs: 0, heardMs: 0, fence: fenceContract },
  ...{ startDeadlineSeconds: 300, graceSeconds: 8, brake: 'Off' },
};
/** The step, which the table of evidence allows. */
const step = (changed: Partial<RepairInput>): RepairStep => {
  const next = nextRepairStep({ ...usual, ...changed });
  permitsOf(next);
  return next;
};
const told = (next: RepairStep): string =>
  next.kind === 'tell'
    ? `${next.remarks.map(({ type }) => type).join()}${next.ms === undefined ? '' : ` ${next.ms}`}`
    : next.kind;
const released = (stoodSeconds: number): RepairStep => ({
  kind: 'release',
  proof: { kind: 'FenceExpired', leaseRevision: 7, stoodSeconds },
  on: 'fenceExpired',
});
const fence = {
  stage: 'Unknown',
  isFenced: true,
  rule: { action: 'Fence', afterSeconds: 130 },
} as const;

describe('[L5] a replica that may run', () => {
  it.each<[Stage]>([['Bound'], ['Starting'], ['Ready'], ['Serving'], ['Releasing']])(
    'is of unknown fate when the lease of its node has expired: %s',
    (stage) => {
      expect(step({ stage, node: silentFor(40) }).kind).toBe('wait');
      expect(step({ stage, node: silentFor(40.1) })).toEqual({
        kind: 'move',
        reason: 'LeaseExpired',
        on: 'leaseExpired',
      });
      expect(step({ stage, node: undefined, inStageMs: reportSlackMs + 1 })).toMatchObject({ kind: 'move' });
    },
  );

  it.each<[Stage, number, string]>([
    ['Bound', 300 * second, 'StartDeadlinePassed'],
    ['Starting', 300 * second + reportSlackMs, 'StartOverdue'],
    ['Releasing', 8 * second + reportSlackMs, 'StopOverdue'],
  ])('is so too when its stage lasts too long, even on a fresh node: %s', (stage, ms, reason) => {
    expect(step({ stage, inStageMs: ms - 1 })).toEqual({ kind: 'wait', ms: 1 });
    expect(step({ stage, inStageMs: ms })).toEqual({ kind: 'move', reason, on: 'noReport' });
  });

  it('is left alone while it runs and its node is heard of', () => {
    for (const stage of ['Ready', 'Serving'] as const)
      expect(step({ stage, inStageMs: 1e9 })).toEqual({ kind: 'wait' });
  });

  it.each<[Stage]>([
    ...(['Admitted', 'Queued', 'Scheduled', 'Succeeded', 'Failed', 'Released'] as const).map(
      (stage): [Stage] => [stage],
    ),
  ])('or may not, is no matter of repair: %s', (stage) => {
    expect(step({ stage, node: silentFor(1_000), inStageMs: 1e9 })).toEqual({ kind: 'wait' });
  });
});

describe('[S5] a replica of unknown fate', () => {
  it('is released by its fence when the lease stood for the window, and for as long as its workload asks', () => {
    expect(step({ ...fence, node: silentFor(129) })).toEqual({ kind: 'wait', ms: second });
    expect(step({ ...fence, node: silentFor(130) })).toEqual(released(130));
    const later = { ...fence, rule: { action: 'Fence', afterSeconds: 200 } } as const;
    expect(step({ ...later, node: silentFor(130) })).toEqual({ kind: 'wait', ms: 70 * second });
    const wider = { ...fence, fence: { windowSeconds: 300 } };
    expect(step({ ...wider, node: silentFor(200) })).toEqual({ kind: 'wait', ms: 100 * second });
  });

  it('is not, if it was bound without one or its workload asks to wait by now', () => {
    expect(told(step({ ...fence, isFenced: false, node: silentFor(1_000) }))).toBe('NeedsHuman');
    const waits = { ...fence, rule: { action: 'Wait', afterSeconds: 300 } } as const;
    expect(step({ ...waits, node: silentFor(200) })).toEqual({ kind: 'wait', ms: 100 * second });
    expect(told(step({ ...waits, node: silentFor(300) }))).toBe('NeedsHuman');
    expect(told(step({ ...fence, node: undefined, inStageMs: 1e9 }))).toBe('NeedsHuman');
  });

  it('whose workload is gone ends with its fence, or needs a human', () => {
    const gone = { ...fence, rule: { action: 'Gone' } } as const;
    expect(step({ ...gone, node: silentFor(130) })).toEqual(released(130));
    expect(told(step({ ...gone, isFenced: false, node: silentFor(41) }))).toBe('NeedsHuman');
  });

  it('is released on the word of a human, whatever its rule', () => {
    for (const action of ['Fence', 'Replace', 'Wait'] as const)
      expect(
        step({
          ...{ stage: 'Unknown', rule: { action, afterSeconds: 300 } },
          node: silentFor(41, { isAttested: true }),
        }),
      ).toEqual({ kind: 'release', proof: { kind: 'Attested' }, on: 'attestation' });
  });
});

describe('[S12] a replica of unknown fate that may be replaced', () => {
  const lost = { stage: 'Unknown' } as const;

  it('may be as late after the last renewal as its workload says; a human is asked for when it lasts', () => {
    expect(step({ ...lost, node: silentFor(44) })).toEqual({ kind: 'wait', ms: second });
    expect(told(step({ ...lost, node: silentFor(45) }))).toBe(`Replaceable ${85 * second}`);
    expect(told(step({ ...lost, node: silentFor(130) }))).toBe('Replaceable,NeedsHuman');
  });

  it('is so once: the second is not offered again', () => {
    expect(told(step({ ...lost, isReplaced: true, node: silentFor(45) }))).toBe(` ${85 * second}`);
    expect(told(step({ ...lost, isReplaced: true, node: silentFor(200) }))).toBe('NeedsHuman');
  });
});

describe('[L3] a replica of unknown fate on a node that is heard of', () => {
  const lost = { stage: 'Unknown', node: heard } as const;

  it('is left to its agent for a while, however long its node was away', () => {
    expect(step({ ...lost, inStageMs: 1e9, heardMs: 0 })).toEqual({ kind: 'wait', ms: answerMs });
    for (const rule of [usual.rule, fence.rule])
      expect(step({ ...lost, rule, heardMs: answerMs })).toEqual({
        kind: 'stop',
        reason: 'NoReport',
        on: 'noReport',
      });
  });

  it('and was asked to stop is not taken for stopped: a second may come where one is allowed, and a human is asked for', () => {
    const asked = { ...lost, isAskedToStop: true };
    expect(step({ ...asked, heardMs: 44 * second })).toEqual({ kind: 'wait', ms: second });
    expect(told(step({ ...asked, heardMs: 45 * second }))).toBe('Replaceable,NeedsHuman');
    expect(told(step({ ...asked, ...fence, node: heard, heardMs: 1e9 }))).toBe('NeedsHuman');
  });
});

describe('a replica on a node that a new leader has not heard of yet', () => {
  const node = silentFor(3, { isHeard: false });

  it('is looked at again when a full lease has passed under that leader, and not before', () => {
    for (const stage of ['Serving', 'Unknown'] as const)
      for (const isAskedToStop of [false, true])
        expect(step({ stage, node, isAskedToStop, rule: { action: 'Replace', afterSeconds: 0 } })).toEqual({
          ...{ kind: 'wait', ms: 37 * second + 1 },
        });
  });
});

describe('[L8] a node with a short lease', () => {
  const short = (seconds: number) => silentFor(seconds, { leaseMs: 15 * second, isHeard: seconds <= 15 });
  const togetherSeconds = judgedTogetherMs / second;
  const lost = { stage: 'Unknown', rule: { action: 'Replace', afterSeconds: 16 } } as const;

  it('is given up only after it is seen whether others are as silent', () => {
    expect(step({ ...lost, node: short(20) })).toEqual({ kind: 'wait', ms: judgedTogetherMs - 20 * second });
    expect(told(step({ ...lost, node: short(togetherSeconds) }))).toMatch(/^Replaceable/);
    const shortFence = { ...fence, rule: { action: 'Gone' }, fence: { windowSeconds: 10 } } as const;
    expect(step({ ...shortFence, node: short(20) }).kind).toBe('wait');
    expect(step({ ...shortFence, node: short(togetherSeconds) })).toEqual(released(togetherSeconds));
  });

  it('is released at once on the word of somebody who knows', () => {
    const node = { ...short(20), isAttested: true };
    expect(step({ ...lost, node }).kind).toBe('release');
  });
});

describe('a brake that stops repair', () => {
  const stopped = { brake: 'Stop', stage: 'Unknown' } as const;

  it('holds back what would be given away, and nothing else', () => {
    expect(step({ ...stopped, node: silentFor(45) })).toEqual({ kind: 'held', ms: brakeLookMs });
    expect(step({ ...fence, ...stopped, node: silentFor(130) })).toEqual({ kind: 'held', ms: brakeLookMs });
    expect(step({ ...stopped, node: silentFor(44) }).kind).toBe('wait');
    expect(step({ ...stopped, stage: 'Ready', node: silentFor(41) }).kind).toBe('move');
    expect(step({ ...stopped, node: silentFor(41, { isAttested: true }) }).kind).toBe('release');
    expect(told(step({ ...stopped, isReplaced: true, node: silentFor(200) }))).toBe('NeedsHuman');
  });

  it('that only slows it down leaves the step as it is: its budget waits', () => {
    expect(told(step({ ...stopped, brake: 'Slow', node: silentFor(130) }))).toBe('Replaceable,NeedsHuman');
  });
});

describe('[S5] a replica that was bound before the journal of its node began', () => {
  const anotherJournal = { cell: 1, number: 4 };
  const node: NodeEvidence = { ...heard, anotherJournal };

  it.each<[Stage]>([['Bound'], ['Starting'], ['Ready'], ['Serving'], ['Releasing']])(
    'is of unknown fate, although its node is heard of: %s',
    (stage) => {
      expect(step({ stage, node })).toEqual({ kind: 'move', reason: 'JournalLost', on: 'anotherJournal' });
    },
  );

  it('is released by its fence when this leader has seen that journal for the window, and not before', () => {
    expect(step({ ...fence, node, inStageMs: 129 * second, heardMs: 1_000 * second })).toEqual({
      ...{ kind: 'wait', ms: second },
    });
    expect(step({ ...fence, node, inStageMs: 130 * second })).toEqual({
      kind: 'release',
      proof: { kind: 'JournalExpired', journalSince: anotherJournal, stoodSeconds: 130 },
      on: 'journalExpired',
    });
    expect(step({ ...fence, node, inStageMs: 130 * second, brake: 'Stop' }).kind).toBe('held');
  });

  it('is replaced, attested or waited for as one whose node is silent, and its agent is not asked', () => {
    const unknown = { stage: 'Unknown', node } as const;
    expect(told(step({ ...unknown, inStageMs: 45 * second }))).toBe(`Replaceable ${85 * second}`);
    expect(told(step({ ...unknown, rule: { action: 'Wait', afterSeconds: 300 }, inStageMs: 300_000 }))).toBe(
      'NeedsHuman',
    );
    expect(step({ ...unknown, node: { ...node, isAttested: true } })).toMatchObject({
      proof: { kind: 'Attested' },
    });
  });
});

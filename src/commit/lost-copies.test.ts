import { beforeEach, describe, expect, it } from 'vitest';
import type { Replica } from '../model/kinds/replica.js';
import type { BerthObject } from '../model/object.js';
import { kindOf } from '../objects/open-objects.fixture.js';
import { answer, done, openTestCell, type TestCell } from './test-cell.fixture.js';

type Mode = 'AtLeastOne' | 'AtMostOne';
const modes: readonly Mode[] = ['AtLeastOne', 'AtMostOne'];

/** Revision `web-r1` is AtLeastOne, `web-r2` is AtMostOne. */
const revisionOf = { AtLeastOne: 'web-r1', AtMostOne: 'web-r2' } as const;

const refusal =
  'SlotTaken: slot 0 of web: web-0-1 on n1 is lost and may still run, and AtMostOne allows no second copy';

let cell: TestCell;
let web: BerthObject;

beforeEach(async () => {
  cell = await openTestCell();
  await cell.tenant('shop');
  await cell.node('n1');
  await cell.node('n2');
  web = await cell.workload('shop', 'web', {}, { onNodeLost: { action: 'Replace' } });
  const { template } = web.spec as { template: object };
  await cell.create('WorkloadRevision', 'shop', 'web-r2', {
    ...{ workload: 'web', revision: 2, placement: {}, priorityClassName: 'default' },
    template: { ...template, execution: 'AtMostOne' },
  });
});

/** What the workload says from now on. */
async function setMode(mode: Mode): Promise<void> {
  const { template } = web.spec as { template: object };
  const action = mode === 'AtMostOne' ? 'Fence' : 'Replace';
  const rollout =
    mode === 'AtMostOne' ? { maxSurge: 0, maxUnavailable: 1 } : { maxSurge: 1, maxUnavailable: 0 };
  const spec = { template: { ...template, execution: mode }, onNodeLost: { action }, rollout };
  await cell.set('Workload', 'web', spec, 'shop');
}

/** The first incarnation is bound to n1 and lost. */
async function lostOn(node: string, mode: Mode = 'AtLeastOne'): Promise<Replica> {
  const replica = await cell.incarnate(web, '0', 1, { revision: revisionOf[mode] });
  done(await cell.bind(replica, node));
  done(await cell.lose(replica));
  return replica;
}

const next = (incarnation: number, mode: Mode) =>
  cell.tryIncarnate(web, '0', incarnation, { revision: revisionOf[mode] });

/** Every combination of modes, and whether the second copy may be made. */
const combinations = modes.flatMap((lost) =>
  modes.flatMap((made) =>
    modes.map((now) => [lost, made, now, [lost, made, now].every((mode) => mode === 'AtLeastOne')] as const),
  ),
);

describe('[S5] a replica is made beside a copy that may still run only if nothing of it is AtMostOne', () => {
  it.each(combinations)(
    'the last replica (%s) is lost, the next is %s, the workload says %s: allowed %s',
    async (lost, made, now, isAllowed) => {
      await lostOn('n1', lost);
      await setMode(now);
      const outcome = await next(2, made);
      if (isAllowed) expect(outcome.kind).toBe('Committed');
      else expect(answer(outcome)).toBe(refusal);
    },
  );

  it.each(combinations.filter(([lost]) => lost === 'AtLeastOne'))(
    'a %s copy is lost and its replacement has ended, the next is %s, the workload says %s: allowed %s',
    async (_, made, now, isAllowed) => {
      const lost = await lostOn('n1');
      const second = done(await next(2, 'AtLeastOne')).replica;
      done(await cell.release(second, { kind: 'NeverBound' }, 'workload-controller'));
      await setMode(now);
      const outcome = await next(3, made);
      if (isAllowed) return expect(outcome.kind).toBe('Committed');
      expect(answer(outcome)).toBe(refusal);
      // Its agent is back: it was replaced, stops, and says so. That is the proof.
      done(await cell.report(lost, 'Ready'));
      expect((await next(3, made)).kind).toBe('Rejected');
      done(await cell.report(lost, 'Released'));
      expect((await next(3, made)).kind).toBe('Committed');
    },
  );

  it('and only while the workload says Replace', async () => {
    await lostOn('n1');
    const second = done(await next(2, 'AtLeastOne')).replica;
    done(await cell.release(second, { kind: 'NeverBound' }, 'workload-controller'));
    await cell.set('Workload', 'web', { onNodeLost: { action: 'Wait', afterSeconds: 60 } }, 'shop');
    expect(answer(await next(3, 'AtLeastOne'))).toBe(
      'SlotTaken: slot 0 of web: web-0-1 on n1 is lost and may still run, and onNodeLost: Wait allows no second copy',
    );
  });

  it('an attestation that the lost copy has stopped is proof too', async () => {
    const lost = await lostOn('n1');
    const second = done(await next(2, 'AtLeastOne')).replica;
    done(await cell.release(second, { kind: 'NeverBound' }, 'workload-controller'));
    await setMode('AtMostOne');
    expect((await next(3, 'AtMostOne')).kind).toBe('Rejected');
    const nodeEpoch = cell.epochs.get('n1') ?? { cell: 1, number: 1 };
    const attest = { node: 'n1', nodeEpoch, reason: 'switched off', forSeconds: 60, operation: 'attest' };
    done(await cell.authority.attest({ actor: cell.actors.operator, ...attest }));
    done(await cell.release(lost, { kind: 'Attested' }));
    expect((await next(3, 'AtMostOne')).kind).toBe('Committed');
  });

  it('the mode of a lost copy whose revision is gone is taken for AtMostOne', async () => {
    await lostOn('n1');
    await cell.objects.delete(kindOf('WorkloadRevision'), {
      ...{ kind: 'WorkloadRevision', namespace: 'shop', name: 'web-r1' },
    });
    await cell.create('WorkloadRevision', 'shop', 'web-r3', {
      ...{ workload: 'web', revision: 3, placement: {}, priorityClassName: 'default' },
      template: (web.spec as { template: object }).template,
    });
    expect(answer(await cell.tryIncarnate(web, '0', 2, { revision: 'web-r3' }))).toBe(refusal);
  });

  it('a copy of another workload that had the same name is not replaced', async () => {
    await lostOn('n1');
    await cell.objects.delete(kindOf('Workload'), { kind: 'Workload', namespace: 'shop', name: 'web' });
    const another = await cell.create('Workload', 'shop', 'web', web.spec as object);
    expect(answer(await cell.tryIncarnate(another, '0', 2))).toBe(
      'SlotTaken: slot 0 of web: web-0-1 is of a workload of that name that is gone, and has not ended',
    );
  });
});

describe('[S5] a replica that waits is not placed beside a lost copy once its workload says AtMostOne', () => {
  it.each(['bind', 'reserve'] as const)('%s', async (operation) => {
    const lost = await lostOn('n1');
    const second = done(await next(2, 'AtLeastOne')).replica;
    const place = () => (operation === 'bind' ? cell.bind(second, 'n2') : cell.reserve(second, 'n2'));
    await setMode('AtMostOne');
    expect(answer(await place())).toBe(refusal);
    done(await cell.report(lost, 'Released'));
    expect((await place()).kind).toBe('Committed');
  });

  it('and is placed as soon as its workload allows two again', async () => {
    await lostOn('n1');
    const second = done(await next(2, 'AtLeastOne')).replica;
    await setMode('AtMostOne');
    expect((await cell.bind(second, 'n2')).kind).toBe('Rejected');
    await setMode('AtLeastOne');
    expect((await cell.bind(second, 'n2')).kind).toBe('Committed');
  });
});

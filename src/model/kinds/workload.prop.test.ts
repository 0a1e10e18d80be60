import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { example } from '../example.fixture.js';
import { Validator } from '../validate.js';
import { workload } from './workload.js';

const validator = new Validator();
const some = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined });
/** Each field there or not; what is not there has no key. */
const partly = (fields: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<object> =>
  fc.record(fields, { requiredKeys: [] });

const probe = partly({ periodSeconds: fc.integer({ min: 1, max: 60 }) }).map((rest) => ({
  ...rest,
  exec: { command: ['./alive'] },
}));

/** Workloads in which every value that is written is allowed beside the others that are written. */
const soundWorkload = fc
  .record({
    type: some(fc.constantFrom('Service', 'Batch', 'Daemon')),
    execution: some(fc.constantFrom('AtMostOne', 'AtLeastOne')),
    run: fc.constantFrom({ process: { command: ['./run'] } }, { container: { image: 'score:v7' } }),
    replicas: some(fc.nat(20)),
    completions: some(fc.integer({ min: 1, max: 20 })),
    afterSeconds: some(fc.integer({ min: 130, max: 1_000 })),
    maxSurge: some(fc.nat(3)),
    maxUnavailable: some(fc.nat(3)),
    hasGang: fc.boolean(),
    hasAutoscale: fc.boolean(),
    readiness: some(probe),
    placement: some(
      partly({
        regions: fc.constant(['eu-central']),
        antiAffinity: fc.constant([{ topology: 'Zone' }]),
        spread: fc.constant([{ topology: 'Zone', maxSkew: 2 }]),
        tolerations: fc.constantFrom(
          [{ operator: 'Exists' }],
          [{ key: 'gpu' }],
          [{ key: 'gpu', value: 'yes' }],
        ),
        freshness: fc.constantFrom({}, { onStale: 'Wait' }),
      }),
    ),
  })
  .map((wish) => {
    const isAtMostOne = wish.execution === 'AtMostOne';
    const isDaemon = wish.type === 'Daemon';
    const maxSurge = isAtMostOne || isDaemon ? undefined : wish.maxSurge;
    const needsOne = isAtMostOne || isDaemon || maxSurge === 0;
    const maxUnavailable = needsOne && wish.maxUnavailable === 0 ? undefined : wish.maxUnavailable;
    const defined = (fields: object): object =>
      Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
    return defined({
      type: wish.type,
      replicas: isDaemon ? undefined : wish.replicas,
      template: defined({ run: wish.run, execution: wish.execution, readiness: wish.readiness }),
      placement: wish.placement,
      onNodeLost: wish.afterSeconds === undefined ? undefined : { afterSeconds: wish.afterSeconds },
      rollout: defined({ maxSurge, maxUnavailable }),
      gang: wish.hasGang && !isDaemon ? {} : undefined,
      autoscale: wish.hasAutoscale && !isDaemon ? { max: 5, target: { cpu: 70 } } : undefined,
      batch: wish.type === 'Batch' ? defined({ completions: wish.completions }) : undefined,
    });
  });

describe('the defaults of a Workload', () => {
  it('complete every sound workload to one that is valid, and change nothing the second time', () => {
    fc.assert(
      fc.property(soundWorkload, (spec) => {
        const once = workload.withDefaults(example(workload, { spec }));
        expect(validator.validate(workload, once)).toEqual([]);
        expect(workload.withDefaults(once)).toEqual(once);
      }),
      { numRuns: 500 },
    );
  });

  it('are of workloads that pass the check as they were written, too', () => {
    fc.assert(
      fc.property(soundWorkload, (spec) => {
        const written = example(workload, { spec });
        expect(workload.check(written, undefined)).toEqual([]);
      }),
    );
  });

  it('never change what was written', () => {
    fc.assert(
      fc.property(soundWorkload, (spec) => {
        expect(workload.withDefaults(example(workload, { spec })).spec).toMatchObject(spec);
      }),
    );
  });

  it('end for any JSON, and twice is like once', () => {
    const name = fc.constantFrom(
      'template',
      'placement',
      'rollout',
      'onNodeLost',
      'batch',
      'gang',
      'type',
      'replicas',
    );
    fc.assert(
      fc.property(fc.dictionary(name, fc.jsonValue()), (spec) => {
        const once = workload.withDefaults(example(workload, { spec }));
        expect(workload.withDefaults(once)).toEqual(once);
        expect(Array.isArray(validator.validate(workload, once))).toBe(true);
      }),
    );
  });
});

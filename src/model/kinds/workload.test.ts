import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { checkMetadata } from '../check-metadata.js';
import { example } from '../example.fixture.js';
import { Validator } from '../validate.js';
import { workload } from './workload.js';

const validator = new Validator();
const processRun = { process: { command: ['./run'] } };
const containerRun = { container: { image: 'score:v7' } };

function refused(spec: object): string[] {
  const object = workload.withDefaults(example(workload, { spec }));
  return validator.validate(workload, object).map((error) => `${error.path}: ${error.message}`);
}

function defaulted(spec: object): Readonly<Record<string, unknown>> {
  return workload.withDefaults(example(workload, { spec })).spec ?? {};
}

const atMostOne = { run: processRun, execution: 'AtMostOne' };

describe('a Workload', () => {
  it('has one label as its name, for it is one in the names that DNS knows its replicas by', () => {
    const named = (name: string): string[] =>
      checkMetadata(workload, { name, namespace: 'shop' }).map(({ path, reason }) => `${path} ${reason}`);
    expect(named('a'.repeat(63))).toEqual([]);
    expect(named('a'.repeat(64))).toEqual(['metadata.name TooLong']);
    expect(named('api.v2')).toEqual(['metadata.name Invalid']);
  });

  it('can say all that the design has it say', () => {
    const manifest = parse(`
      type: Batch
      replicas: 3
      priorityClassName: batch
      template:
        run:
          process: { command: [./score, --shard, $(BERTH_SLOT)] }
          env: [{ name: MODEL, value: v7 }]
        resources: { cpu: "2", memory: 4Gi, devices: { gpu: 1 }, ports: [http] }
        readiness: { http: { path: /ready, port: http }, periodSeconds: 5 }
        liveness: { exec: { command: [./alive] } }
        execution: AtMostOne
        startDeadlineSeconds: 300
        terminationGraceSeconds: 8
        minReadySeconds: 5
        restart: { budget: 5, windowSeconds: 600 }
      placement:
        regions: [eu-central]
        zones: [a, b]
        nodeSelector: { pool: gpu }
        near: { region: eu-central, maxLatencyMs: 20 }
        affinity: [{ topology: Zone, selector: { matchLabels: { app: cache } }, mode: Preferred, weight: 10 }]
        antiAffinity: [{ topology: Node }]
        spread: [{ topology: Zone, maxSkew: 1 }]
        tolerations: [{ key: gpu, operator: Exists, effect: NoSchedule }]
        freshness: { maxNodeAgeSeconds: 15, onStale: Wait }
        authority: Regional
      onNodeLost: { action: Fence, afterSeconds: 130 }
      gang: { minAvailable: 3 }
      disruption: { maxUnavailable: 1 }
      rollout: { maxSurge: 0, maxUnavailable: 1, progressDeadlineSeconds: 600, onDeadline: Pause }
      batch: { completions: 3, backoffLimit: 4, ttlSecondsAfterFinished: 3600, schedule: "0 2 * * *" }
      autoscale: { min: 1, max: 10, target: { cpu: 70 } }
    `) as object;
    expect(refused(manifest)).toEqual([]);
    expect(defaulted(manifest)).toMatchObject(manifest);
  });

  it('that says no more than what to run is a Service that is replaced quickly', () => {
    expect(defaulted({ template: { run: processRun } })).toEqual({
      type: 'Service',
      replicas: 1,
      suspend: false,
      priorityClassName: 'default',
      template: {
        run: processRun,
        execution: 'AtLeastOne',
        startDeadlineSeconds: 300,
        terminationGraceSeconds: 8,
        minReadySeconds: 0,
        restart: { budget: 5, windowSeconds: 600 },
      },
      placement: { freshness: { maxNodeAgeSeconds: 15, onStale: 'Bind' }, authority: 'Regional' },
      onNodeLost: { action: 'Replace', afterSeconds: 45 },
      disruption: { maxUnavailable: 1 },
      rollout: { maxSurge: 1, maxUnavailable: 0, progressDeadlineSeconds: 600, onDeadline: 'Pause' },
    });
  });

  it.each([
    ['a process: Fence, as soon as the window of the cell is over', processRun, { action: 'Fence' }],
    ['a container: Wait, since it cannot be fenced', containerRun, { action: 'Wait', afterSeconds: 300 }],
  ])('[S5] that is AtMostOne and says no more gets, as %s', (_, run, onNodeLost) => {
    expect(defaulted({ template: { run, execution: 'AtMostOne' } })).toMatchObject({
      onNodeLost,
      rollout: { maxSurge: 0, maxUnavailable: 1 },
      placement: { freshness: { onStale: 'Wait' } },
    });
    expect(refused({ template: { run, execution: 'AtMostOne' } })).toEqual([]);
  });

  it('that is a Batch completes as many slots as it has replicas; a Daemon has no number', () => {
    expect(defaulted({ type: 'Batch', replicas: 4, template: { run: processRun } })).toMatchObject({
      batch: { completions: 4, backoffLimit: 6 },
    });
    expect(defaulted({ type: 'Daemon', template: { run: processRun } })).not.toHaveProperty('replicas');
    expect(defaulted({ type: 'Daemon', template: { run: processRun } })).toMatchObject({
      rollout: { maxSurge: 0, maxUnavailable: 1 },
    });
  });

  it('fills in probes and rules of placement where they are written', () => {
    expect(
      defaulted({
        template: { run: processRun, readiness: { tcp: { port: 80 } } },
        placement: {
          spread: [{ topology: 'Zone' }],
          tolerations: [{ operator: 'Exists' }, { key: 'a' }],
          antiAffinity: [{ topology: 'Node' }],
        },
      }),
    ).toMatchObject({
      template: {
        readiness: { tcp: { port: 80 }, periodSeconds: 10, timeoutSeconds: 1, failureThreshold: 3 },
      },
      placement: {
        spread: [{ maxSkew: 1, mode: 'Required' }],
        tolerations: [{ operator: 'Exists' }, { key: 'a', operator: 'Equal' }],
        antiAffinity: [{ topology: 'Node', mode: 'Required' }],
      },
    });
  });

  it.each([
    [
      'AtMostOne with Replace',
      { template: atMostOne, onNodeLost: { action: 'Replace' } },
      'spec.onNodeLost.action: AtMostOne cannot be replaced while the lost replica may still run: use Fence, or Wait where the driver cannot fence',
    ],
    [
      'AtMostOne with maxSurge',
      { template: atMostOne, rollout: { maxSurge: 1, maxUnavailable: 1 } },
      'spec.rollout.maxSurge: AtMostOne allows only 0: the old replica must have stopped before the new one starts',
    ],
    [
      'AtMostOne with maxUnavailable 0',
      { template: atMostOne, rollout: { maxUnavailable: 0 } },
      'spec.rollout.maxUnavailable: AtMostOne needs at least 1: a rollout must stop a replica before it starts the next',
    ],
    [
      'Fence before its window is over',
      { template: atMostOne, onNodeLost: { action: 'Fence', afterSeconds: 129 } },
      'spec.onNodeLost.afterSeconds: Fence needs at least 130, the time after which a lost replica has stopped for certain',
    ],
    [
      'the default Fence before its window is over',
      { template: atMostOne, onNodeLost: { afterSeconds: 60 } },
      'spec.onNodeLost.afterSeconds: Fence needs at least 130, the time after which a lost replica has stopped for certain',
    ],
    [
      'Fence of a container',
      { template: { run: containerRun, execution: 'AtMostOne' }, onNodeLost: { action: 'Fence' } },
      'spec.onNodeLost.action: FenceUnsupported: a container cannot be fenced: use Wait, or run a process',
    ],
    [
      'Fence of what does not fence itself',
      { template: { run: processRun }, onNodeLost: { action: 'Fence' } },
      'spec.onNodeLost.action: only AtMostOne replicas stop by themselves, which Fence relies on: use Replace or Wait, or execution AtMostOne',
    ],
    [
      'a rollout that can make no step',
      { template: { run: processRun }, rollout: { maxSurge: 0, maxUnavailable: 0 } },
      'spec.rollout.maxUnavailable: needs at least 1 when maxSurge is 0, or no rollout could ever make a step',
    ],
    [
      'a Daemon that surges',
      { type: 'Daemon', template: { run: processRun }, rollout: { maxSurge: 1 } },
      'spec.rollout.maxSurge: a Daemon allows only 0: each node has one slot',
    ],
    [
      'a Daemon with a number',
      { type: 'Daemon', replicas: 3, template: { run: processRun } },
      'spec.replicas: a Daemon runs one replica on every suitable node',
    ],
    [
      'a Daemon as a gang',
      { type: 'Daemon', gang: { minAvailable: 1 }, template: { run: processRun } },
      'spec.gang: a Daemon starts node by node, never as a gang',
    ],
    [
      'a Daemon that scales',
      { type: 'Daemon', autoscale: { max: 3, target: { cpu: 50 } }, template: { run: processRun } },
      'spec.autoscale: a Daemon is scaled by the number of nodes',
    ],
    [
      'batch fields of a Service',
      { template: { run: processRun }, batch: { completions: 3 } },
      'spec.batch: only type Batch may have it, not Service',
    ],
    [
      'a gang larger than what exists at once',
      { replicas: 2, template: { run: processRun }, gang: { minAvailable: 3 } },
      'spec.gang.minAvailable: must be at most 2: more never exist at once, so the gang could not start',
    ],
    [
      'a gang larger than its batch',
      {
        type: 'Batch',
        replicas: 5,
        batch: { completions: 2 },
        template: { run: processRun },
        gang: { minAvailable: 3 },
      },
      'spec.gang.minAvailable: must be at most 2: more never exist at once, so the gang could not start',
    ],
    [
      'an autoscaler whose bounds cross',
      { template: { run: processRun }, autoscale: { min: 5, max: 3, target: { cpu: 50 } } },
      'spec.autoscale.min: must be at most max, which is 3',
    ],
    [
      'an autoscaler without an aim',
      { template: { run: processRun }, autoscale: { max: 3, target: {} } },
      'spec.autoscale.target: needs at least one of cpu, memory',
    ],
    [
      'nothing to run',
      { template: { run: {} } },
      'spec.template.run: needs exactly one of process, container',
    ],
    [
      'two things to run',
      { template: { run: { ...processRun, ...containerRun } } },
      'spec.template.run: needs exactly one of process, container',
    ],
    [
      'a probe that asks nothing',
      { template: { run: processRun, liveness: {} } },
      'spec.template.liveness: needs exactly one of http, tcp, exec',
    ],
    [
      'a probe of a port that is not there',
      {
        template: {
          run: processRun,
          resources: { ports: ['web:80'] },
          readiness: { http: { port: 'http' } },
        },
      },
      'spec.template.readiness.http.port: must be a number or one of resources.ports: web',
    ],
    [
      'two classes of devices whose ids would be in one variable',
      { template: { run: processRun, resources: { devices: { 'x.com/gpu': 1, x_com_gpu: 1 } } } },
      'spec.template.resources.devices.x_com_gpu: the ids of x.com/gpu are in BERTH_DEVICES_x_com_gpu already',
    ],
    [
      'one name for two ports',
      { template: { run: processRun, resources: { ports: ['web:80', 'web:81'] } } },
      'spec.template.resources.ports[1]: the port name web is taken',
    ],
    [
      'a label that is none',
      { template: { run: processRun, labels: { app: 'no way' } } },
      "spec.template.labels[app]: must be empty or letters, digits, '-', '_' and '.', with a letter or digit at both ends",
    ],
    [
      'affinity to nothing',
      { template: { run: processRun }, placement: { affinity: [{ topology: 'Zone' }] } },
      'spec.placement.affinity[0].selector: says which replicas to be near to',
    ],
    [
      'a weight of a hard rule',
      { template: { run: processRun }, placement: { antiAffinity: [{ topology: 'Zone', weight: 3 }] } },
      'spec.placement.antiAffinity[0].weight: only a Preferred rule has a weight',
    ],
    [
      'a toleration that compares with no key',
      { template: { run: processRun }, placement: { tolerations: [{ operator: 'Equal', value: 'x' }] } },
      'spec.placement.tolerations[0].key: Equal needs a key; Exists without a key tolerates everything',
    ],
    [
      'a toleration that compares and does not',
      {
        template: { run: processRun },
        placement: { tolerations: [{ key: 'a', operator: 'Exists', value: 'x' }] },
      },
      'spec.placement.tolerations[0].value: Exists compares no value',
    ],
    [
      'a schedule that is none',
      { type: 'Batch', template: { run: processRun }, batch: { schedule: '0 2 * *' } },
      'spec.batch.schedule: must be a cron expression of five fields: minute, hour, day of month, month, day of week ("0 2 * * *")',
    ],
  ])('is refused: %s', (_, spec, message) => {
    expect(refused(spec)).toEqual([message]);
  });

  it('is told every refused combination at once', () => {
    expect(
      refused({
        template: { ...atMostOne, run: containerRun },
        onNodeLost: { action: 'Fence', afterSeconds: 1 },
        rollout: { maxSurge: 1, maxUnavailable: 0 },
        batch: {},
      }),
    ).toHaveLength(5);
  });

  it('keeps its type, since its slots depend on it', () => {
    const before = workload.withDefaults(example(workload, { spec: { template: { run: processRun } } }));
    const after = { ...before, spec: { ...before.spec, type: 'Batch' } };
    expect(workload.check(after, before)).toEqual([
      {
        path: 'spec.type',
        value: 'Batch',
        reason: 'Forbidden',
        message: 'cannot be changed once it is written',
      },
    ]);
    expect(
      workload.check({ ...before, spec: { ...before.spec, replicas: 0, gang: { minAvailable: 1 } } }, before),
    ).toEqual([]);
  });
});

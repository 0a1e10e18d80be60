import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { example } from './example.fixture.js';
import type { KindDefinition } from './kind.js';
import { event } from './kinds/event.js';
import { node } from './kinds/node.js';
import { workload } from './kinds/workload.js';
import { Validator } from './validate.js';

const validator = new Validator();
const parse = (text: string): unknown => JSON.parse(text) as unknown;
const found = (kind: KindDefinition, object: unknown): string[] =>
  validator.validate(kind, object).map((error) => `${error.path} ${error.reason}: ${error.message}`);

const good = example(workload, { spec: { template: { run: { process: { command: ['./run'] } } } } }, 'api');

describe('the validator', () => {
  it('has nothing to say of a good object', () => {
    expect(found(workload, good)).toEqual([]);
    expect(found(workload, { ...good, metadata: { ...good.metadata, creationTimestamp: null } })).toEqual([]);
  });

  it('says everything that the schema finds at once, each with its path, its value and what is allowed', () => {
    const errors = validator.validate(workload, {
      ...good,
      spec: {
        type: 'service',
        replicas: -1,
        template: {
          run: {
            process: { command: [] },
            env: [{ name: '1A' }, { name: 'B', value: 'x' }, { name: 'B', value: 'y' }],
          },
          resources: {
            cpu: '4GB',
            memory: true,
            devices: { gpu: 1.5, 'no good': 1 },
            ports: ['http', 'http', 'X'],
          },
        },
        batch: { schedule: 'daily' },
      },
    });
    expect(
      errors
        .map((error) => `${error.path} | ${JSON.stringify(error.value)} | ${error.reason}: ${error.message}`)
        .toSorted(),
    ).toEqual(
      [
        'spec.type | "service" | NotSupported: must be one of Service, Batch, Daemon; did you mean Service?',
        'spec.replicas | -1 | Invalid: must be at least 0',
        'spec.template.run.process.command | undefined | Required: must have at least one entry',
        'spec.template.run.env[0].value | undefined | Required: is required',
        'spec.template.run.env[0].name | "1A" | Invalid: must be letters, digits and \'_\', not starting with a digit, nor with BERTH_, which Berth sets itself',
        'spec.template.run.env[2] | undefined | Duplicate: the same name is there twice',
        'spec.template.resources.cpu | "4GB" | Invalid: must be a number, optionally with one of the suffixes n u m k M G T P E Ki Mi Gi Ti Pi Ei or an exponent: 2, 0.5, 500m, 4Gi, 1e3; not negative',
        'spec.template.resources.memory | true | Invalid: must be a number, optionally with one of the suffixes n u m k M G T P E Ki Mi Gi Ti Pi Ei or an exponent: 2, 0.5, 500m, 4Gi, 1e3; not negative',
        "spec.template.resources.devices | \"no good\" | Invalid: the key must be letters, digits, '-', '_', '.' and '/', with a letter or digit at both ends",
        'spec.template.resources.devices.gpu | 1.5 | Invalid: must be a whole number',
        'spec.template.resources.ports[2] | "X" | Invalid: must be a name of up to 15 lower-case letters, digits and \'-\', or with a fixed port: "http" or "http:8080"',
        'spec.template.resources.ports[1] | "http" | Duplicate: is there twice',
        'spec.batch.schedule | "daily" | Invalid: must be a cron expression of five fields: minute, hour, day of month, month, day of week ("0 2 * * *")',
      ].toSorted(),
    );
  });

  it('sets unknown fields apart, with their path and the nearest name, and still asks the rules', () => {
    expect(
      found(workload, {
        ...good,
        extra: 1,
        metadata: { ...good.metadata, lables: {} },
        spec: { ...good.spec, replcias: 3, zzz: {}, onNodeLost: { action: 'Fence', afterSeconds: 130 } },
      }),
    ).toEqual([
      'extra Unknown: unknown field; known are apiVersion, kind, metadata, spec, status',
      'metadata.lables Unknown: unknown field; did you mean labels?',
      'spec.replcias Unknown: unknown field; did you mean replicas?',
      expect.stringMatching(/^spec.zzz Unknown: unknown field; known are template, type, /),
      expect.stringMatching(/^spec.onNodeLost.action Forbidden: only AtMostOne/),
    ]);
  });

  it('looks at metadata', () => {
    expect(
      found(workload, {
        ...good,
        metadata: {
          name: 'A',
          labels: { 'b ad': 'x', tier: 'no way' },
          annotations: { '/x': 'y', big: 'x'.repeat(262_144) },
          finalizers: ['-'],
          ownerReferences: [1, 2].map((uid) => ({
            apiVersion: 'v1',
            kind: 'K',
            name: 'n',
            uid: String(uid),
            controller: true,
          })),
        },
      }).map((line) => line.split(':')[0]),
    ).toEqual([
      'metadata.name Invalid',
      'metadata.labels Invalid',
      'metadata.labels[tier] Invalid',
      'metadata.annotations Invalid',
      'metadata.finalizers[0] Invalid',
      'metadata.namespace Required',
      'metadata.annotations TooLong',
      'metadata.ownerReferences Invalid',
    ]);
    expect(
      found(node, {
        apiVersion: 'berth.dev/v1',
        kind: 'Node',
        metadata: { name: 'n', namespace: 'x' },
        spec: {},
      }),
    ).toEqual(['metadata.namespace Forbidden: must be left out: objects of this kind belong to the cluster']);
    expect(
      found(workload, { ...good, metadata: { labels: { a: 1 }, ownerReferences: [{}] } }).map(
        (line) => line.split(':')[0],
      ),
    ).toEqual([
      'metadata.labels.a Invalid',
      'metadata.ownerReferences[0].apiVersion Required',
      'metadata.ownerReferences[0].kind Required',
      'metadata.ownerReferences[0].name Required',
      'metadata.ownerReferences[0].uid Required',
    ]);
  });

  it.each([null, 1, 'text', [], {}])('refuses %j, which is no object of the kind', (value) => {
    expect(found(workload, value)).not.toEqual([]);
  });

  it('wants the kind and version that it is asked about', () => {
    expect(found(workload, { ...good, apiVersion: 'v1', kind: 'Pod' })).toEqual([
      'apiVersion NotSupported: must be berth.dev/v1',
      'kind NotSupported: must be Workload',
    ]);
  });

  it('is not fooled by keys that reach a prototype', () => {
    expect(
      found(workload, {
        ...good,
        spec: parse('{"__proto__":{"replicas":3},"template":{"run":{"process":{"command":["x"]}}}}'),
      }),
    ).toEqual(['spec.__proto__ Forbidden: is not allowed as a name']);
    expect(
      found(workload, { ...good, metadata: { ...good.metadata, labels: parse('{"__proto__":"x"}') } }),
    ).toEqual(['metadata.labels.__proto__ Forbidden: is not allowed as a name']);
    for (const name of ['constructor', 'toString', 'hasOwnProperty', 'prototype']) {
      expect(found(workload, { ...good, spec: { ...good.spec, [name]: {} } })[0]).toMatch(
        `spec.${name} Unknown`,
      );
      expect(found(workload, { ...good, metadata: { ...good.metadata, labels: { [name]: 'x' } } })).toEqual(
        [],
      );
    }
    // A field that only the prototype has is not there.
    expect(found(workload, { ...good, spec: Object.create(good.spec ?? null) as unknown })).toEqual([
      'spec.template Required: is required',
    ]);
    expect(({} as Record<string, unknown>)['replicas']).toBeUndefined();
  });

  it('refuses what is nested too deep or has too many values, quickly', () => {
    const deep = parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`);
    expect(found(workload, { ...good, spec: deep })).toEqual([
      expect.stringMatching(/^spec(\[0\]){64} Invalid: must not be nested more than 64 deep$/),
    ]);
    expect(found(workload, { ...good, spec: { zones: Array.from({ length: 200_000 }, () => 0) } })).toEqual([
      ' TooLong: must have at most 100000 values in all',
    ]);
  });

  it('stops listing errors that nobody would read', () => {
    const errors = found(node, {
      apiVersion: 'berth.dev/v1',
      kind: 'Node',
      metadata: { name: 'n' },
      spec: { taints: Array.from({ length: 500 }, () => 0) },
    });
    expect(errors).toHaveLength(101);
    expect(errors[100]).toMatch(/^ Invalid: \d+ more errors are not shown$/);
  });

  it('asks the rules only about objects that the schema has nothing against, however much is unknown', () => {
    const unknown = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`x${index}`, 1]));
    const errors = found(workload, { ...good, spec: { ...unknown, template: { run: 7 } } });
    expect(errors).toHaveLength(101);
    expect(found(workload, { ...good, spec: { ...unknown, ...good.spec } })).toHaveLength(101);
  });

  it('does not echo long values', () => {
    const [error] = validator.validate(workload, {
      ...good,
      spec: { ...good.spec, priorityClassName: 'x'.repeat(5_000) },
    });
    expect(String(error?.value)).toHaveLength(257);
  });

  it('knows kinds without spec and status', () => {
    const happened = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'e.1', namespace: 'default' },
      involvedObject: { kind: 'Workload', namespace: 'default', name: 'api' },
      reason: 'Placed',
      type: 'Normal',
      lastTimestamp: '2026-01-31T13:05:00Z',
    };
    expect(found(event, happened)).toEqual([]);
    expect(found(event, { ...happened, involvedObject: undefined, type: 'Bad' }).length).toBeGreaterThan(0);
    expect(found(event, { ...happened, spec: {} })).toEqual([expect.stringMatching(/^spec Unknown/)]);
  });

  it('ends every input in a list of errors, whatever it is', () => {
    const path = fc.constantFrom('metadata', 'spec', 'status', 'apiVersion', 'extra');
    fc.assert(
      fc.property(path, fc.jsonValue(), (name, value) => {
        expect(
          Array.isArray(validator.validate(workload, workload.withDefaults({ ...good, [name]: value }))),
        ).toBe(true);
      }),
    );
  });
});

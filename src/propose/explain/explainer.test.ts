import { describe, expect, it } from 'vitest';
import { realEnv } from '../../env/real.js';
import { FakeObjects, objectOf } from '../../model/fake-objects.fixture.js';
import type { Objects } from '../../model/ports.js';
import { Explainer } from './explainer.js';

const workloads = ['api', 'web', 'worker'];

describe('what needs attention in a cell', () => {
  it('is found in one look at its replicas, however many workloads have lost some', () => {
    const objects = new FakeObjects();
    let replicasListed = 0;
    const counted: Pick<Objects, 'get' | 'list' | 'version'> = {
      get: (kind, namespace, name) => objects.get(kind, namespace, name),
      list: (kind, namespace) => {
        if (kind === 'Replica') replicasListed += 1;
        return objects.list(kind, namespace);
      },
      version: '1',
    };
    const nobody = () => Promise.reject(new Error('nobody asks'));
    for (const name of workloads) {
      objects.put(objectOf('Workload', 'shop', name, { spec: {}, status: { unknownReplicas: 1 } }));
      const needs = {
        type: 'NeedsHuman',
        status: 'True',
        message: `${name} is lost`,
        lastTransitionTime: '',
      };
      const status = { stage: 'Unknown', binding: { node: 'n1' }, conditions: [needs] };
      objects.put(objectOf('Replica', 'shop', `${name}-0-1`, { spec: { workload: name }, status }));
    }
    const explainer = new Explainer({
      ...{ objects: counted, decisions: () => ({ list: nobody }), env: realEnv() },
      placement: { factsOf: nobody, factsOfGang: nobody, verdictsOn: nobody },
      server: () => ({ name: 's1', notReady: undefined }),
    });
    const { items } = explainer.attention(undefined);
    expect(items.map(({ name, reason, message }) => `${name} ${reason} ${message}`)).toEqual(
      workloads.map((name) => `${name} NeedsHuman ${name}-0-1 on n1: ${name} is lost`),
    );
    expect(replicasListed).toBe(1);
  });
});

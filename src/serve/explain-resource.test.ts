import { describe, expect, it } from 'vitest';
import type { Explain } from '../model/explanation.js';
import { workload } from '../model/kinds/workload.js';
import { explainOver } from './explain-resource.js';

const asked: string[] = [];
const explain = new Proxy({} as Explain, {
  get: (_, question) => (): Promise<object> => {
    asked.push(String(question));
    return Promise.resolve({});
  },
});

const ask = (query: string) =>
  explainOver(
    explain,
    workload,
    {
      ...{ method: 'GET', path: '', query: new URLSearchParams(query), body: Buffer.alloc(0) },
      ...{ accept: undefined, contentType: undefined, userAgent: undefined },
      ...{ identity: { kind: 'admin' }, signal: new AbortController().signal },
    },
    {
      ...{ group: 'berth.dev', version: 'v1', namespace: 'bank', plural: 'workloads' },
      ...{ name: 'score', subresource: 'why' },
    },
  );

describe('why over the API', () => {
  it('is about one node where one is named, and a node without a name is refused', async () => {
    await expect(ask('')).resolves.toMatchObject({ value: { kind: 'Explanation' } });
    await expect(ask('node=n1')).resolves.toMatchObject({ value: { kind: 'NodeVerdicts' } });
    await expect(ask('node=')).rejects.toThrow('node is empty; allowed is the name of a node');
    expect(asked).toEqual(['why', 'whyNot']);
  });
});

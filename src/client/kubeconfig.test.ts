import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { scratchDirectory } from '../../testing/scratch.js';
import { kubeconfigPath, readKubeconfig } from './kubeconfig.js';

const scratch = scratchDirectory('kubeconfig');
afterAll(() => scratch.remove());

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const good = {
  'current-context': 'here',
  contexts: [{ name: 'here', context: { cluster: 'c', user: 'u', namespace: 'fraud' } }],
  clusters: [
    { name: 'c', cluster: { server: 'https://127.0.0.1:7443', 'certificate-authority-data': base64('CA') } },
  ],
  users: [
    { name: 'u', user: { 'client-certificate-data': base64('CERT'), 'client-key-data': base64('KEY') } },
  ],
};
const path = join(scratch.path, 'config');
const read = (config: unknown): ReturnType<typeof readKubeconfig> => {
  writeFileSync(path, typeof config === 'string' ? config : stringify(config));
  return readKubeconfig({ path });
};

describe('a kubeconfig', () => {
  it('says where the server is, whom to trust and who we are, in YAML or JSON', async () => {
    expect(await read(JSON.stringify(good))).toEqual(await read(good));
    expect(await read(good)).toEqual({
      url: 'https://127.0.0.1:7443',
      ca: 'CA',
      cert: 'CERT',
      key: 'KEY',
      token: undefined,
      namespace: 'fraud',
    });
  });

  it('may name files, which are looked for beside it, and a token', async () => {
    writeFileSync(join(scratch.path, 'ca.pem'), 'CA of a file');
    writeFileSync(join(scratch.path, 'token'), 'secret\n');
    const config = {
      ...good,
      contexts: [{ name: 'here', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster: { server: 'https://h:1', 'certificate-authority': 'ca.pem' } }],
      users: [{ name: 'u', user: { tokenFile: 'token' } }],
    };
    expect(await read(config)).toMatchObject({ ca: 'CA of a file', token: 'secret', namespace: 'default' });
  });

  it('names several servers of one cell in an extension of its cluster', async () => {
    const withServers = (extension: unknown): object => ({
      ...good,
      clusters: [
        {
          name: 'c',
          cluster: {
            server: 'https://a:1',
            'certificate-authority-data': base64('CA'),
            extensions: [
              { name: 'minikube', extension: { provider: 'x' } },
              { name: 'berth.dev/servers', extension },
            ],
          },
        },
      ],
    });
    expect(await read(withServers({ servers: ['https://a:1', 'https://b:1', 'https://c:1'] }))).toMatchObject(
      {
        url: 'https://a:1',
        otherUrls: ['https://b:1', 'https://c:1'],
      },
    );
    expect(await read(withServers({ servers: ['https://a:1'] }))).not.toHaveProperty('otherUrls');
    for (const wrong of [{ servers: ['http://b'] }, { servers: [3] }, { servers: {} }, {}, 'b', null])
      await expect(read(withServers(wrong)), JSON.stringify(wrong)).rejects.toThrow(
        /clusters\[c\].cluster.extensions\[berth.dev\/servers\] is .*: an https:\/\/ address is needed/,
      );
  });

  it('is the one given, or that of BERTH_CONFIG, or the first of KUBECONFIG', () => {
    const environment = { BERTH_CONFIG: '/b', KUBECONFIG: ':/k1:/k2' };
    expect(kubeconfigPath('/p', environment)).toBe('/p');
    expect(kubeconfigPath(undefined, environment)).toBe('/b');
    expect(kubeconfigPath(undefined, { KUBECONFIG: ':/k1:/k2' })).toBe('/k1');
    expect(() => kubeconfigPath(undefined, {})).toThrow(/set BERTH_CONFIG or KUBECONFIG/);
  });

  it.each([
    ['a: [', /not YAML/],
    ['{ a: [', /not YAML/],
    ['just words', /holds no fields/],
    [{ ...good, 'current-context': '' }, /current-context is missing/],
    [{ ...good, 'current-context': 'there' }, /contexts has no entry named "there"/],
    [
      { ...good, contexts: [{ name: 'here', context: { user: 'u' } }] },
      /contexts\[here\].context.cluster is missing/,
    ],
    [{ ...good, clusters: [{ name: 'c' }] }, /clusters\[c\].cluster is missing/],
    [{ ...good, clusters: [{ name: 'c', cluster: {} }] }, /clusters\[c\].cluster.server is missing/],
    [{ ...good, clusters: [{ name: 'c', cluster: { server: 'http://h' } }] }, /https:\/\/ address is needed/],
    [{ ...good, users: [] }, /users has no entry named "u"/],
    [{ ...good, users: [{ name: 'u', user: {} }] }, /neither a token nor a client-certificate/],
    [
      { ...good, users: [{ name: 'u', user: { 'client-key-data': 'eA==' } }] },
      /client-certificate .* is missing/,
    ],
    [{ ...good, users: [{ name: 'u', user: { tokenFile: 'nowhere' } }] }, /tokenFile cannot be read/],
  ])('that is wrong is named with its field: %j', async (config, says) => {
    await expect(read(config)).rejects.toThrow(says);
    await expect(read(config)).rejects.toThrow(path);
  });

  it('that is not there is named', async () => {
    const missing = join(scratch.path, 'missing');
    await expect(readKubeconfig({ path: missing })).rejects.toThrow(new RegExp(`${missing}.*cannot be read`));
  });
});

import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { scratchDirectory } from '../../testing/scratch.js';
import { readKubeconfig } from '../client/kubeconfig.js';
import { nameServers, writeKubeconfig } from './kubeconfig.js';

const scratch = scratchDirectory('written-kubeconfig');
afterAll(() => scratch.remove());
const path = join(scratch.path, 'kubeconfig');
const own = 'https://a:1';

describe('the kubeconfig that a server writes', () => {
  it('names the other servers of the cell, and keeps what its reader has set', async () => {
    writeKubeconfig(path, { server: own, ca: 'CA', certificate: 'CERT', key: 'KEY' });
    writeFileSync(path, readFileSync(path, 'utf8').replace('"namespace": "default"', '"namespace": "fraud"'));
    nameServers(path, own, ['https://b:1', own]);
    const access = { ca: 'CA', cert: 'CERT', key: 'KEY', namespace: 'fraud' };
    expect(await readKubeconfig({ path })).toMatchObject({ ...access, url: own, otherUrls: ['https://b:1'] });
    nameServers(path, own, ['https://c:1']);
    expect(await readKubeconfig({ path })).toMatchObject({ ...access, url: own, otherUrls: ['https://c:1'] });
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('is not written again while the servers are the same', () => {
    const before = statSync(path).ino;
    nameServers(path, own, ['https://c:1']);
    expect(statSync(path).ino).toBe(before);
  });

  it.each([
    'server: yaml',
    '[]',
    'null',
    '{}',
    '{"clusters":[{"name":"berth","cluster":{"server":"https://x"}}]}',
  ])('stays as it is once somebody has made %s of it', (text) => {
    writeFileSync(path, text);
    nameServers(path, own, ['https://b:1']);
    expect(readFileSync(path, 'utf8')).toBe(text);
  });
});

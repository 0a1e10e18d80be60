import { describe, expect, it } from 'vitest';
import { connectionError } from './connection-error.js';
import { parseServers, ServerList, type Tried } from './server-list.js';

const urls = ['https://a:1', 'https://b:1', 'https://c:1'];
const gone = (url: string): Tried<never> => ({
  kind: 'gone',
  error: connectionError(url, `GET ${url}/x`, Object.assign(new Error('no'), { code: 'ECONNREFUSED' })),
});

/** A round in which the servers named are gone; gives the order in which servers were tried. */
async function round(list: ServerList, down: readonly string[]): Promise<readonly string[]> {
  const tried: string[] = [];
  await list
    .reach(async ({ url }): Promise<Tried<string>> => {
      tried.push(url);
      return Promise.resolve(down.includes(url) ? gone(url) : { kind: 'answered', value: url });
    })
    .catch(() => undefined);
  return tried;
}

describe('the servers of a cell', () => {
  it('are tried in order from the current one, each once, and the one that answered stays', async () => {
    const list = new ServerList(urls);
    expect(await round(list, [])).toEqual(['https://a:1']);
    expect(await round(list, ['https://a:1'])).toEqual(['https://a:1', 'https://b:1']);
    expect(await round(list, [])).toEqual(['https://b:1']);
    expect(await round(list, urls)).toEqual(['https://b:1', 'https://c:1', 'https://a:1']);
  });

  it('are left once, however many requests fail at the same server', () => {
    const list = new ServerList(urls);
    for (let request = 0; request < 10; request++) list.leave('https://a:1');
    expect(list.current).toBe('https://b:1');
  });

  it('end a round at the first answer, also where the answer is an error', async () => {
    const list = new ServerList(urls);
    await expect(list.reach(() => Promise.reject(new Error('Forbidden')))).rejects.toThrow('Forbidden');
    expect(list.current).toBe('https://a:1');
  });

  it('bound the time of a connection while another server is left, and not for the last', async () => {
    const boundsMs: number[] = [];
    const list = new ServerList(urls);
    await list
      .reach(({ url, connectMsMax }) => {
        boundsMs.push(connectMsMax);
        return Promise.resolve(gone(url));
      })
      .catch(() => undefined);
    expect(boundsMs).toEqual([3_000, 3_000, Infinity]);
  });

  it('are all named by the error when none answers, and only those tried when the time is up', async () => {
    const list = new ServerList(urls);
    const attempt = ({ url }: { readonly url: string }): Promise<Tried<never>> => Promise.resolve(gone(url));
    await expect(list.reach(attempt)).rejects.toMatchObject({
      code: 'ServerUnreachable',
      servers: urls.map((url) => ({ url, reason: 'connection refused' })),
    });
    await expect(list.reach(attempt, () => false)).rejects.toMatchObject({
      servers: [{ url: 'https://a:1' }],
    });
  });

  it.each([
    ['https://a:1', ['https://a:1']],
    ['https://a:1, https://b:1/x', ['https://a:1', 'https://b:1/x']],
    ['https://a:1,https://a:1', ['https://a:1']],
  ])('are read from %s', (text, expected) => {
    expect(parseServers(text)).toEqual(expected);
  });

  it.each([
    ['', '"" is not an https URL'],
    ['https://a:1,', '"" is not an https URL'],
    ['http://a:1', '"http://a:1" is not an https URL'],
    ['a:1', '"a:1" is not an https URL'],
    ['https://a:99999', 'is not an https URL'],
    [Array.from({ length: 33 }, (_, n) => `https://h${n}`).join(','), '33 servers are named; at most 32'],
  ])('are refused as %j', (text, says) => {
    expect(() => parseServers(text)).toThrow(says);
  });
});

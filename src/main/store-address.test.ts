import { describe, expect, it } from 'vitest';
import { parseStoreAddress } from './store-address.js';

describe('the address of a store', () => {
  it('is a directory, or the members of an etcd cluster', () => {
    expect(parseStoreAddress('lmdb:some/dir')).toEqual({ kind: 'lmdb', dir: 'some/dir' });
    expect(parseStoreAddress('etcd:http://127.0.0.1:2379,https://b:2379')).toEqual({
      kind: 'etcd',
      urls: ['http://127.0.0.1:2379', 'https://b:2379'],
    });
  });

  it.each([
    '',
    'lmdb:',
    'lmdb',
    'etcd:',
    'etcd:a:2379',
    'etcd:http://a:1,',
    'etcd:http://u:p@a:1',
    'sqlite:x',
  ])('is not %j', (text) => {
    expect(() => parseStoreAddress(text)).toThrow(`${JSON.stringify(text)} is not a store: write lmdb:DIR`);
  });
});

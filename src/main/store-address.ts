import { BerthError } from '../model/errors.js';

/** Where a cell is kept: in a directory of this machine, or in an etcd cluster. */
export type StoreAddress =
  | { readonly kind: 'lmdb'; readonly dir: string }
  | { readonly kind: 'etcd'; readonly urls: readonly string[] };

const allowed = 'write lmdb:DIR or etcd:URL[,URL…], with URLs as http://HOST:PORT or https://HOST:PORT';
const membersMax = 20;

/** Reads what people write as the address of a store. */
export function parseStoreAddress(text: string): StoreAddress {
  const [, kind, rest = ''] = /^(lmdb|etcd):(.+)$/s.exec(text) ?? [];
  if (kind === 'lmdb') return { kind, dir: rest };
  if (kind === 'etcd') {
    const urls = rest.split(',');
    if (urls.length <= membersMax && urls.every(isMemberUrl)) return { kind, urls };
  }
  throw new BerthError('InvalidStoreAddress', `${JSON.stringify(text)} is not a store: ${allowed}`);
}

function isMemberUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, pathname, search, hash, username, password } = new URL(text);
  const isPlain = pathname === '/' && search === '' && hash === '' && username === '' && password === '';
  return (protocol === 'http:' || protocol === 'https:') && isPlain && !text.endsWith('/');
}

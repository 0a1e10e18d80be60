import { describe, expect, it } from 'vitest';
import { httpsUrl, isEveryAddress, parseListenAddress } from './listen-address.js';

describe('where a server listens', () => {
  it('is an IP address and a port', () => {
    expect(parseListenAddress('127.0.0.1:7443')).toEqual({ host: '127.0.0.1', port: 7443 });
    expect(parseListenAddress('[::1]:0')).toEqual({ host: '::1', port: 0 });
    expect(isEveryAddress(parseListenAddress('0.0.0.0:1').host)).toBe(true);
    expect(isEveryAddress('10.0.0.1')).toBe(false);
  });

  it.each([
    '7443',
    '127.0.0.1',
    'localhost:7443',
    '127.0.0.1:70000',
    '::1:7443',
    '[127.0.0.1]:1',
    ':1',
    'a:b',
  ])('is not %j', (text) => {
    expect(() => parseListenAddress(text)).toThrow(
      `${JSON.stringify(text)} is not where a server can listen`,
    );
  });

  it('is what clients connect to', () => {
    expect(httpsUrl('127.0.0.1', 7443)).toBe('https://127.0.0.1:7443');
    expect(httpsUrl('::1', 7443)).toBe('https://[::1]:7443');
    expect(httpsUrl('berth.example', 7443)).toBe('https://berth.example:7443');
  });
});

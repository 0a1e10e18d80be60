import { describe, expect, it } from 'vitest';
import { addressTowards, isLoopbackAddress, machineName } from './own-address.js';

// No label of DNS is this long, so nobody is asked for it.
const longName = `https://${'x'.repeat(64)}.invalid:1`;

describe('the address of this machine', () => {
  it.each(['https://127.0.0.1:1', 'https://127.0.0.1', 'https://[::1]:1'])(
    'towards %s is a loopback address',
    async (url) => {
      expect(isLoopbackAddress(await addressTowards(url))).toBe(true);
    },
  );

  it('is not known towards a name that DNS does not know', async () => {
    await expect(addressTowards(longName)).rejects.toMatchObject({
      code: 'ServerUnreachable',
    });
  });

  it.each([
    ['127.0.0.1', true],
    ['127.1.2.3', true],
    ['::1', true],
    ['10.0.0.1', false],
    ['2001:db8::1', false],
  ])('%s is a loopback address: %s', (address, is) => {
    expect(isLoopbackAddress(address)).toBe(is);
  });

  it('is told apart from that of another machine by the boot id', () => {
    expect(machineName()).toMatch(/^[0-9a-f-]{36}$/);
    expect(machineName()).toBe(machineName());
  });
});

import { describe, expect, it } from 'vitest';
import { EtcdEchoes } from './etcd-echoes.js';

const message = (text: string): [Buffer, number, number] => [Buffer.from(`<${text}>`), 1, 1 + text.length];

describe('what comes back through the watch', () => {
  it('is given back as the bytes that were written here, once, and only if they are the same', () => {
    const echoes = new EtcdEchoes();
    const written = Buffer.from('mine');
    echoes.expect('/a', written);
    expect(echoes.own('/a', ...message('theirs')).toString()).toBe('theirs');
    expect(echoes.own('/b', ...message('mine'))).not.toBe(written);
    expect(echoes.own('/a', ...message('mine'))).toBe(written);
    expect(echoes.own('/a', ...message('mine'))).not.toBe(written);
    expect(echoes.own('/a', ...message('mine'))).toEqual(written);
  });

  it('is known however often the key was written since, and without those that were never applied', () => {
    const echoes = new EtcdEchoes();
    const [first, voided, third, fourth] = ['1', '2', '3', '4'].map((text) => Buffer.from(text));
    for (const value of [first, voided, third, fourth]) echoes.expect('/a', value as Buffer);
    expect(echoes.own('/a', ...message('1'))).toBe(first);
    expect(echoes.own('/a', ...message('3'))).toBe(third);
    expect(echoes.own('/a', ...message('2'))).not.toBe(voided);
    const fifth = Buffer.from('5');
    echoes.expect('/a', fifth);
    expect(echoes.own('/a', ...message('4'))).toBe(fourth);
    expect(echoes.own('/a', ...message('5'))).toBe(fifth);
  });

  it('is remembered only so far', () => {
    const echoes = new EtcdEchoes();
    const written = Buffer.from('mine');
    for (let count = 0; count <= 50_000; count++) echoes.expect(`/${count}`, written);
    expect(echoes.own('/0', ...message('mine'))).not.toBe(written);
    expect(echoes.own('/50000', ...message('mine'))).toBe(written);
  });
});

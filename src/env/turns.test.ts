import { describe, expect, it } from 'vitest';
import { Turns } from './turns.js';

const turnOfLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('turns', () => {
  it('let one of those that wait go on in each turn of the event loop, in order', async () => {
    const turns = new Turns();
    const wentOn: string[] = [];
    for (const name of ['a', 'b', 'c']) void turns.next().then(() => wentOn.push(name));
    expect(wentOn).toEqual([]);
    for (const expected of [['a'], ['a', 'b'], ['a', 'b', 'c']]) {
      await turnOfLoop();
      expect(wentOn).toEqual(expected);
    }
  });

  it('let one that yields again go after those that waited before it', async () => {
    const turns = new Turns();
    const wentOn: string[] = [];
    const busy = async (name: string): Promise<void> => {
      for (let stretch = 0; stretch < 3; stretch++) {
        await turns.next();
        wentOn.push(name);
      }
    };
    await Promise.all([busy('a'), busy('b')]);
    expect(wentOn.join('')).toBe('ababab');
  });
});

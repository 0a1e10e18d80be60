import { describe, expect, it } from 'vitest';
import { isBerthError } from '../model/errors.js';
import { type Arrival, TransactionQueue } from './transaction-queue.js';

const arrival = (bytes: number): Arrival => ({
  transaction: { guards: [], writes: [] },
  bytes,
  resolve: () => undefined,
  reject: () => undefined,
});

describe('the queue of transactions', () => {
  it('gives back what came first, and lets go of what it gave back', () => {
    const queue = new TransactionQueue();
    const first = arrival(1);
    queue.push(first);
    for (let count = 0; count < 5_000; count++) {
      queue.push(arrival(1));
      expect(queue.shift()).toBeDefined();
      expect(queue.size).toBe(1);
    }
    expect(queue.drain()).toHaveLength(1);
    expect(queue.shift()).toBeUndefined();
  });

  it('is bounded in number and in bytes', () => {
    const isOverloaded = (push: () => void): boolean => {
      try {
        push();
        return false;
      } catch (error) {
        return isBerthError(error, 'StoreOverloaded');
      }
    };
    const many = new TransactionQueue();
    for (let count = 0; count < 20_000; count++) many.push(arrival(1));
    expect(isOverloaded(() => many.push(arrival(1)))).toBe(true);
    const large = new TransactionQueue();
    for (let count = 0; count < 256; count++) large.push(arrival(1024 * 1024));
    expect(isOverloaded(() => large.push(arrival(1)))).toBe(true);
    large.shift();
    large.push(arrival(1));
  });
});

import { integer, record } from '../fields.js';

export const epochOf = (description: string) =>
  record(description, {
    cell: integer('The incarnation of the cell, which grows when its store is restored or replaced.'),
    number: integer('The number within that incarnation.'),
  });

/** The epoch under which an actor writes. A later one makes every write under an earlier one void (S8). */
export const epoch = epochOf('The epoch: it grows at every change of holder.');

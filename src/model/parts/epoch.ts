import { integer, record } from '../fields.js';

/** The epoch under which an actor writes. A later one makes every write under an earlier one void (S8). */
export const epoch = record('The epoch: it grows at every change of holder.', {
  cell: integer('The incarnation of the cell, which grows when its store is restored or replaced.'),
  number: integer('The number within that incarnation.'),
});

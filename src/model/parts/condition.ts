import { choice, integer, listByKey, record, text, timestamp } from '../fields.js';

/** The conditions of an object: what is currently so, why, and since when. */
export const conditions = listByKey(
  'What is currently so of this object, one entry per type.',
  ['type'],
  record(
    'One thing that is so, is not so, or is not known.',
    {
      type: text('What the condition is about, in CamelCase.', { minLength: 1, maxLength: 316 }),
      status: choice('True, False, or Unknown when it cannot be told.', ['True', 'False', 'Unknown']),
      lastTransitionTime: timestamp('When the status last changed.'),
      reason: text('Why, as one CamelCase word for programs.', { maxLength: 1_024 }),
      message: text('Why, as a sentence for people. May be empty.', { maxLength: 32_768 }),
    },
    { observedGeneration: integer('The generation of the spec that this was concluded from.') },
  ),
);

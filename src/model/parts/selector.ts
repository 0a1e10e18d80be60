import { choice, listOf, mapOf, record, text } from '../fields.js';

/** Selects objects by their labels; all conditions must hold. */
export const labelSelector = record(
  'Which replicas, by their labels; all conditions must hold.',
  {},
  {
    matchLabels: mapOf('Labels and the values they must have.', text('The value.'), 'label'),
    matchExpressions: listOf(
      'Conditions on labels.',
      record(
        'One condition on a label.',
        {
          key: text('The key of the label.', { minLength: 1 }),
          operator: choice('How the label is compared with the values.', [
            'In',
            'NotIn',
            'Exists',
            'DoesNotExist',
          ]),
        },
        { values: listOf('What In and NotIn compare with.', text('A value.')) },
      ),
    ),
  },
);

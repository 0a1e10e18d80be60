import {
  anything,
  choice,
  flag,
  integer,
  listByKey,
  listOf,
  mapOf,
  record,
  schema,
  setOf,
  text,
} from './fields.js';

/** Clients that print an object before it exists leave null here. */
const serverTime = (description: string) =>
  schema<string | null>({ type: ['string', 'null'], format: 'date-time', maxLength: 64, description });

/** The metadata of every object. What the server alone sets is only looked at for its type. */
export const objectMeta = record(
  'What every object has: its name, its labels, who owns it, and its versions.',
  {},
  {
    name: text('The name, unique among objects of its kind in its namespace.'),
    generateName: text('A prefix for a name that the server makes up, where name is left out.', {
      maxLength: 253,
    }),
    namespace: text('The tenant it belongs to; none for objects of the cluster.'),
    uid: text('Set by the server: tells it from another object that had the same name before.'),
    resourceVersion: text('Set by the server: changes with every write. Sent back, it guards an update.'),
    generation: integer('Set by the server: grows with every change of the spec.'),
    creationTimestamp: serverTime('Set by the server: when it was created.'),
    deletionTimestamp: serverTime('Set by the server: when its deletion was asked for.'),
    deletionGracePeriodSeconds: integer('Set by the server: how long its deletion may take.'),
    labels: mapOf('Names and values to select objects by.', text('The value of the label.'), 'label'),
    annotations: mapOf(
      'Names and values that are kept and not looked at.',
      text('Any text.', { maxLength: 262_144 }),
      'label',
    ),
    ownerReferences: listByKey(
      'The objects it depends on: when all are gone, it is deleted.',
      ['uid'],
      record(
        'One owner.',
        {
          apiVersion: text('The API version of the owner.', { minLength: 1, maxLength: 253 }),
          kind: text('The kind of the owner.', { minLength: 1, maxLength: 253 }),
          name: text('The name of the owner.', { format: 'name', maxLength: 253 }),
          uid: text('The uid of the owner.', { minLength: 1, maxLength: 64 }),
        },
        {
          controller: flag('Whether this owner manages it; at most one does.'),
          blockOwnerDeletion: flag(
            'Whether the owner stays until it is gone, where deletion waits for dependents.',
          ),
        },
      ),
      { maxItems: 64 },
    ),
    finalizers: setOf(
      'What must be done before it is gone; each name is removed by who did it.',
      text('A name.'),
      {
        maxItems: 64,
      },
    ),
    managedFields: listOf(
      'Set by the server: which manager owns which fields.',
      record(
        'The fields of one manager.',
        {},
        {
          manager: text('The name of the manager.', { maxLength: 128 }),
          operation: choice('How it wrote them.', ['Apply', 'Update']),
          apiVersion: text('The API version it wrote them in.', { maxLength: 253 }),
          time: text('When it last did.', { maxLength: 64 }),
          fieldsType: text('The form of fieldsV1.', { maxLength: 63 }),
          fieldsV1: anything('The fields.'),
          subresource: text('The subresource it wrote them through.', { maxLength: 63 }),
        },
      ),
    ),
    selfLink: text('No longer used.'),
  },
);

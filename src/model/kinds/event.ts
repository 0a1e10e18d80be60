import { column } from '../define-kind.js';
import { choice, count, nameOf, record, text, timestamp } from '../fields.js';
import type { KindDefinition } from '../kind.js';

const reference = (description: string) =>
  record(
    description,
    {},
    {
      apiVersion: text('The API version of the object.', { maxLength: 253 }),
      kind: text('The kind of the object.', { maxLength: 253 }),
      namespace: text('The namespace of the object; empty for one of the cluster.', { maxLength: 253 }),
      name: nameOf('The name of the object.'),
      uid: text('The uid of the object.', { maxLength: 64 }),
      resourceVersion: text('The version of the object that it was seen at.', { maxLength: 64 }),
      fieldPath: text('The part of the object it is about.', { maxLength: 1_024 }),
    },
  );

/** Something that happened to an object, in the form of core/v1 that ordinary clients list and describe. */
export const event: KindDefinition = {
  group: '',
  version: 'v1',
  kind: 'Event',
  plural: 'events',
  singular: 'event',
  shortNames: ['ev'],
  categories: [],
  scope: 'Tenant',
  nameForm: 'subdomain',
  keptBy: 'Store',
  description: 'Something that happened to an object, for people to read. It is kept for a limited time.',
  fields: {
    involvedObject: reference('What it happened to.'),
    reason: text('What happened, as one CamelCase word.', { maxLength: 128 }),
    message: text('What happened, for people.', { maxLength: 1_024 }),
    type: choice('Normal, or Warning if somebody should look.', ['Normal', 'Warning']),
    source: record(
      'Who reports it.',
      {},
      {
        component: text('The part of Berth that reports it.', { maxLength: 253 }),
        host: text('The node it reports from.', { maxLength: 253 }),
      },
    ),
    firstTimestamp: timestamp('When it first happened.'),
    lastTimestamp: timestamp('When it last happened.'),
    eventTime: timestamp('When it happened, if only once.'),
    count: count('How often it has happened.'),
    series: record(
      'That it goes on happening.',
      {},
      {
        count: count('How often it has happened.'),
        lastObservedTime: timestamp('When it last happened.'),
      },
    ),
    action: text('What was done about it.', { maxLength: 128 }),
    related: reference('Another object that has to do with it.'),
    reportingComponent: text('The part of Berth that reports it.', { maxLength: 253 }),
    reportingInstance: text('Which instance of that part.', { maxLength: 253 }),
  },
  requiredFields: ['involvedObject'],
  writers: { spec: 'system', status: 'nobody' },
  isApplied: false,
  columns: [
    column('Last Seen', 'date', '.lastTimestamp', 'When it last happened.'),
    column('Type', 'string', '.type', 'Normal or Warning.'),
    column('Reason', 'string', '.reason', 'What happened, in one word.'),
    column('Object', 'string', involved, 'What it happened to.'),
    column('Source', 'string', '.source.component', 'Who reports it.', 1),
    column('Message', 'string', '.message', 'What happened.'),
    column('Count', 'integer', '.count', 'How often it has happened.', 1),
  ],
  selectableFields: [
    'involvedObject.apiVersion',
    'involvedObject.kind',
    'involvedObject.namespace',
    'involvedObject.name',
    'involvedObject.uid',
    'involvedObject.resourceVersion',
    'involvedObject.fieldPath',
    'reason',
    'reportingComponent',
    'source.component',
    'type',
  ],
  withDefaults: (object) => ({ ...object, type: object['type'] ?? 'Normal', count: object['count'] ?? 1 }),
  check: (object, before) => {
    const namespace = (object['involvedObject'] as { readonly namespace?: string }).namespace ?? '';
    return before !== undefined || namespace === '' || namespace === object.metadata.namespace
      ? []
      : [
          {
            path: 'involvedObject.namespace',
            value: namespace,
            reason: 'Invalid',
            message: 'must be the namespace of the event',
          },
        ];
  },
};

function involved(object: Readonly<Record<string, unknown>>): string {
  const { kind = '', name = '' } = (object['involvedObject'] ?? {}) as {
    readonly kind?: string;
    readonly name?: string;
  };
  return `${kind.toLowerCase()}/${name}`;
}

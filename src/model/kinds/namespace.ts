import { ageColumn, column, defineKind } from '../define-kind.js';
import { choice, record, setOf, text } from '../fields.js';
import type { KindDefinition } from '../kind.js';

/** Tenants as ordinary clients know them. A view: it is made from the tenant and nobody writes it. */
export const namespace: KindDefinition = {
  ...defineKind({
    kind: 'Namespace',
    plural: 'namespaces',
    singular: 'namespace',
    shortNames: ['ns'],
    scope: 'Cluster',
    nameForm: 'label',
    description: 'A read-only view of a tenant. Create or change the Tenant of that name instead.',
    spec: record(
      'Nothing that can be changed here.',
      {},
      { finalizers: setOf('What must be done before it is gone.', text('A finalizer.')) },
    ),
    status: record(
      'Whether it is in use.',
      {},
      {
        phase: choice('Active, or Terminating while its tenant is being deleted.', ['Active', 'Terminating']),
      },
    ),
    requiredFields: [],
    writers: { spec: 'nobody', status: 'nobody' },
    isApplied: false,
    columns: [column('Status', 'string', '.status.phase', 'Active or Terminating.'), ageColumn],
    selectableFields: ['status.phase'],
  }),
  group: '',
};

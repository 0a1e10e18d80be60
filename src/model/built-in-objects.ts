interface BuiltInObject {
  readonly apiVersion: 'berth.dev/v1';
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

/** What exists from the start, so that a newcomer's first workload runs (DESIGN §3). */
export const builtInObjects: readonly BuiltInObject[] = [
  { apiVersion: 'berth.dev/v1', kind: 'Tenant', metadata: { name: 'default' }, spec: {} },
  { apiVersion: 'berth.dev/v1', kind: 'Region', metadata: { name: 'local' }, spec: { zones: ['local'] } },
  {
    apiVersion: 'berth.dev/v1',
    kind: 'PriorityClass',
    metadata: { name: 'default' },
    spec: { value: 0, description: 'For work that names no priority class.' },
  },
];

import { describe, expect, it } from 'vitest';
import { kinds } from './kinds.js';
import { node } from './kinds/node.js';
import { workload } from './kinds/workload.js';
import { event } from './kinds/event.js';
import { openApiComponents, openApiName, openApiSchema, type OpenApiSchema } from './openapi.js';

function at(schema: OpenApiSchema, ...names: readonly string[]): OpenApiSchema {
  return names.reduce<OpenApiSchema>((inner, name) => {
    const properties = inner['properties'] as Readonly<Record<string, OpenApiSchema>>;
    return properties[name] ?? {};
  }, schema);
}

describe('OpenAPI', () => {
  it('names the group, version and kind', () => {
    expect(openApiSchema(workload)['x-kubernetes-group-version-kind']).toEqual([
      { group: 'berth.dev', version: 'v1', kind: 'Workload' },
    ]);
    expect(openApiName(workload)).toBe('dev.berth.v1.Workload');
    expect(openApiName(event)).toBe('io.k8s.api.core.v1.Event');
  });

  it('keeps descriptions, enums, bounds and what is required', () => {
    const schema = openApiSchema(workload);
    expect(schema['required']).toEqual(['spec']);
    expect(at(schema, 'spec')['required']).toEqual(['template']);
    expect(at(schema, 'spec', 'type')).toEqual({
      type: 'string',
      enum: ['Service', 'Batch', 'Daemon'],
      description: expect.stringContaining('runs to completion') as string,
    });
    expect(at(schema, 'spec', 'replicas')).toMatchObject({ type: 'integer', format: 'int32', minimum: 0 });
  });

  it('says quantities as int-or-string, without a type of their own', () => {
    const cpu = at(openApiSchema(workload), 'spec', 'template', 'resources', 'cpu');
    expect(cpu).toMatchObject({
      'x-kubernetes-int-or-string': true,
      anyOf: [{ type: 'string' }, { type: 'number' }],
    });
    expect(cpu).not.toHaveProperty('type');
    expect(cpu).not.toHaveProperty('format');
  });

  it('says how lists are merged, and what maps hold', () => {
    const schema = openApiSchema(node);
    expect(at(schema, 'spec', 'taints')).toMatchObject({
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['key', 'effect'],
    });
    expect(at(schema, 'spec', 'tenants')).toMatchObject({ 'x-kubernetes-list-type': 'set' });
    expect(at(openApiSchema(workload), 'spec', 'placement', 'nodeSelector')).toMatchObject({
      type: 'object',
      additionalProperties: { type: 'string' },
    });
  });

  it('has only what OpenAPI 3.0 knows, and refers only to what is there', () => {
    const components = openApiComponents(kinds);
    const visit = (value: unknown, path: string): void => {
      if (typeof value !== 'object' || value === null) return;
      for (const [name, inner] of Object.entries(value) as [string, unknown][]) {
        if (name === '$ref')
          expect(Object.keys(components), path).toContain(String(inner).replace('#/components/schemas/', ''));
        if (name === 'propertyNames' || name === 'const' || name === 'patternProperties')
          expect.unreachable(path);
        if (name === 'type' && Array.isArray(inner)) expect.unreachable(path);
        visit(inner, `${path}/${name}`);
      }
    };
    visit(components, '');
    expect(JSON.parse(JSON.stringify(components))).toEqual(components);
    const meta = components['io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'] ?? {};
    expect(at(meta, 'creationTimestamp')).toMatchObject({
      type: 'string',
      format: 'date-time',
      nullable: true,
    });
  });
});

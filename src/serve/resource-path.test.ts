import { describe, expect, it } from 'vitest';
import { parseResourcePath } from './resource-path.js';

const shown = (path: string): string => {
  const found = parseResourcePath(path);
  if (found === undefined) return 'none';
  const { group, version, namespace, plural, name, subresource } = found;
  return [group || 'core', version, namespace ?? '*', plural, name ?? '*', subresource ?? '-'].join(' ');
};

describe('a resource path', () => {
  it.each([
    ['/apis/berth.dev/v1/nodes', 'berth.dev v1 * nodes * -'],
    ['/apis/berth.dev/v1/nodes/a', 'berth.dev v1 * nodes a -'],
    ['/apis/berth.dev/v1/nodes/a/status', 'berth.dev v1 * nodes a status'],
    ['/apis/berth.dev/v1/namespaces/t/workloads', 'berth.dev v1 t workloads * -'],
    ['/apis/berth.dev/v1/namespaces/t/workloads/w/scale', 'berth.dev v1 t workloads w scale'],
    ['/apis/berth.dev/v1/namespaces/t/workloads/a%2eb', 'berth.dev v1 t workloads a.b -'],
    ['/api/v1/namespaces', 'core v1 * namespaces * -'],
    ['/api/v1/namespaces/t', 'core v1 * namespaces t -'],
    ['/api/v1/namespaces/t/status', 'core v1 * namespaces t status'],
    ['/api/v1/namespaces/t/events', 'core v1 t events * -'],
    ['/api/v1/events', 'core v1 * events * -'],
  ])('%s is %s', (path, expected) => {
    expect(shown(path)).toBe(expected);
  });

  it.each([
    '/',
    '/api',
    '/api/v1',
    '/apis/berth.dev/v1',
    '/apis//v1/nodes',
    '/other/v1/nodes',
    '/apis/berth.dev/v1/nodes/a/b/c',
    '/apis/berth.dev/v1/nodes/%zz',
    '/apis/berth.dev/v1/nodes/',
  ])('%s is none', (path) => {
    expect(shown(path)).toBe('none');
  });
});

import { createHash } from 'node:crypto';
import type { KindDefinition } from '../model/kind.js';
import { openApiComponents, openApiName } from '../model/openapi.js';

const groupOf = (group: string): string => (group === '' ? 'api/v1' : `apis/${group}/v1`);

/** The OpenAPI documents that clients fetch, by path: an index and one document per group (v3), and all in one (v2). */
export function openApiDocuments(
  kinds: readonly KindDefinition[],
  version: string,
): ReadonlyMap<string, unknown> {
  const info = { title: 'Berth', version };
  const documents = new Map<string, unknown>();
  const index: Record<string, { serverRelativeURL: string }> = {};
  for (const group of new Set(kinds.map((kind) => kind.group))) {
    const own = kinds.filter((kind) => kind.group === group);
    const document = {
      openapi: '3.0.0',
      info,
      paths: Object.assign({}, ...own.map((kind) => pathsOf(kind, '#/components/schemas/'))) as object,
      components: { schemas: openApiComponents(own) },
    };
    const path = `/openapi/v3/${groupOf(group)}`;
    const hash = createHash('sha256')
      .update(JSON.stringify(document))
      .digest('hex')
      .slice(0, 32)
      .toUpperCase();
    index[groupOf(group)] = { serverRelativeURL: `${path}?hash=${hash}` };
    documents.set(path, document);
  }
  documents.set('/openapi/v3', { paths: index });
  const definitions = JSON.parse(
    JSON.stringify(openApiComponents(kinds)).replaceAll('#/components/schemas/', '#/definitions/'),
  ) as object;
  documents.set('/openapi/v2', {
    swagger: '2.0',
    info,
    paths: Object.assign({}, ...kinds.map((kind) => pathsOf(kind, '#/definitions/'))) as object,
    definitions,
  });
  return documents;
}

/** Where a kind's objects are, with the annotations by which clients find its schema. */
function pathsOf(kind: KindDefinition, schemas: string): Record<string, object> {
  const root = `/${groupOf(kind.group)}${kind.scope === 'Tenant' ? '/namespaces/{namespace}' : ''}/${kind.plural}`;
  const gvk = { group: kind.group, version: kind.version, kind: kind.kind };
  const operation = (action: string): object => ({
    operationId: `${action}${kind.kind}`,
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': gvk,
    responses: { '200': { description: 'OK', ...responseOf(`${schemas}${openApiName(kind)}`, schemas) } },
    // kubectl looks here for whether the server checks fields and tries out changes.
    parameters: parameters(schemas),
  });
  return {
    [root]: { get: operation('list'), post: operation('post') },
    [`${root}/{name}`]: {
      get: operation('get'),
      put: operation('put'),
      patch: operation('patch'),
      delete: operation('delete'),
    },
  };
}

const responseOf = (ref: string, schemas: string): object =>
  schemas === '#/definitions/'
    ? { schema: { $ref: ref } }
    : { content: { 'application/json': { schema: { $ref: ref } } } };

const parameters = (schemas: string): object[] =>
  ['dryRun', 'fieldManager', 'fieldValidation', 'force'].map((name) => ({
    name,
    in: 'query',
    ...(schemas === '#/definitions/' ? { type: 'string' } : { schema: { type: 'string' } }),
  }));

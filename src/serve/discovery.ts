import type { KindDefinition } from '../model/kind.js';

/** What clients ask first: which kinds are there, and what can be done with them. */

const readVerbs = ['get', 'list', 'watch'];
const writeVerbs = ['create', 'delete', 'deletecollection', 'patch', 'update'];

const allVerbs = [...readVerbs, ...writeVerbs].toSorted();

/** Nobody writes a view; everything else that is in the store can be written by somebody. */
export function verbsOf(kind: KindDefinition): readonly string[] {
  if (kind.keptBy === 'Server') return ['get', 'list'];
  return kind.writers.spec === 'nobody' ? readVerbs : allVerbs;
}

interface Subresource {
  readonly name: string;
  readonly responseKind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly verbs: readonly string[];
}

export function subresourcesOf(kind: KindDefinition): Subresource[] {
  const verbs = ['get', 'patch', 'update'];
  const own = { group: kind.group, version: kind.version, kind: kind.kind };
  return [
    ...(kind.fields['status'] !== undefined && kind.writers.spec !== 'nobody'
      ? [{ name: 'status', responseKind: own, verbs }]
      : []),
    ...(kind.scale === undefined
      ? []
      : [{ name: 'scale', responseKind: { group: 'autoscaling', version: 'v1', kind: 'Scale' }, verbs }]),
  ];
}

const groupVersion = (group: string): string => (group === '' ? 'v1' : `${group}/v1`);

export function resourceList(kinds: readonly KindDefinition[], group: string): object {
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: groupVersion(group),
    resources: kinds
      .filter((kind) => kind.group === group)
      .flatMap((kind) => [
        {
          name: kind.plural,
          singularName: kind.singular,
          namespaced: kind.scope === 'Tenant',
          kind: kind.kind,
          verbs: verbsOf(kind),
          ...(kind.shortNames.length === 0 ? {} : { shortNames: kind.shortNames }),
          ...(kind.categories.length === 0 ? {} : { categories: kind.categories }),
        },
        ...subresourcesOf(kind).map(({ name, responseKind, verbs }) => ({
          name: `${kind.plural}/${name}`,
          singularName: '',
          namespaced: kind.scope === 'Tenant',
          ...(responseKind.group === kind.group
            ? {}
            : { group: responseKind.group, version: responseKind.version }),
          kind: responseKind.kind,
          verbs,
        })),
      ]),
  };
}

const preferred = (group: string): { groupVersion: string; version: string } => ({
  groupVersion: groupVersion(group),
  version: 'v1',
});

export const apiGroup = (group: string): object => ({
  kind: 'APIGroup',
  apiVersion: 'v1',
  name: group,
  versions: [preferred(group)],
  preferredVersion: preferred(group),
});

export const apiGroupList = (groups: readonly string[]): object => ({
  kind: 'APIGroupList',
  apiVersion: 'v1',
  groups: groups.map((group) => ({
    name: group,
    versions: [preferred(group)],
    preferredVersion: preferred(group),
  })),
});

export const apiVersions = (): object => ({
  kind: 'APIVersions',
  versions: ['v1'],
  serverAddressByClientCIDRs: [],
});

/** All of it in one answer, for clients that ask for that. */
export function aggregatedDiscovery(
  kinds: readonly KindDefinition[],
  groups: readonly string[],
  version: 'v2' | 'v2beta1',
): object {
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items: groups.map((group) => ({
      metadata: { name: group, creationTimestamp: null },
      versions: [
        {
          version: 'v1',
          freshness: 'Current',
          resources: kinds.filter((kind) => kind.group === group).map(aggregatedResource),
        },
      ],
    })),
  };
}

function aggregatedResource(kind: KindDefinition): object {
  const subresources = subresourcesOf(kind);
  return {
    resource: kind.plural,
    responseKind: { group: kind.group, version: kind.version, kind: kind.kind },
    scope: kind.scope === 'Tenant' ? 'Namespaced' : 'Cluster',
    singularResource: kind.singular,
    verbs: verbsOf(kind),
    ...(kind.shortNames.length === 0 ? {} : { shortNames: kind.shortNames }),
    ...(kind.categories.length === 0 ? {} : { categories: kind.categories }),
    ...(subresources.length === 0
      ? {}
      : {
          subresources: subresources.map(({ name, responseKind, verbs }) => ({
            subresource: name,
            responseKind,
            verbs,
          })),
        }),
  };
}

/** Where objects of a kind are. Without a namespace: those of the cluster, or of all namespaces when reading. */
export interface KindPath {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly namespace?: string | undefined;
}

/** The path of a kind, of one object of it, or of a part of that. */
export function pathOf(
  { group, version, plural, namespace }: KindPath,
  name?: string,
  subresource?: string,
): string {
  const parts = [
    ...(group === '' ? ['api'] : ['apis', group]),
    version,
    ...(namespace === undefined ? [] : ['namespaces', namespace]),
    plural,
    ...(name === undefined ? [] : [name]),
    ...(subresource === undefined ? [] : [subresource]),
  ];
  return `/${parts.map(encodeURIComponent).join('/')}`;
}

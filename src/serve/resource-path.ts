/** What a path under /api or /apis is about. */
export interface ResourcePath {
  readonly group: string;
  readonly version: string;
  readonly namespace: string | undefined;
  readonly plural: string;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

/** Reads a path such as /apis/berth.dev/v1/namespaces/fraud/workloads/score/status; undefined if it is none of these. */
export function parseResourcePath(path: string): ResourcePath | undefined {
  const parts = path.split('/').slice(1);
  if (parts.some((part) => part === '')) return undefined;
  let decoded = parts;
  try {
    if (path.includes('%')) decoded = parts.map(decodeURIComponent);
  } catch {
    return undefined;
  }
  const [root, ...rest] = decoded;
  const [group, version, ...below] = root === 'api' ? ['', ...rest] : root === 'apis' ? rest : [];
  if (group === undefined || version === undefined || below.length === 0) return undefined;

  // /namespaces/NAME alone is the namespace itself; followed by a kind it is where that kind's objects are.
  const isInNamespace =
    below[0] === 'namespaces' && below.length >= 3 && !(group === '' && isNamespacePart(below[2]));
  const namespace = isInNamespace ? below[1] : undefined;
  const [plural, name, subresource, ...extra] = isInNamespace ? below.slice(2) : below;
  if (plural === undefined || extra.length > 0) return undefined;
  return { group, version, namespace, plural, name, subresource };
}

const isNamespacePart = (part: string | undefined): boolean => part === 'status' || part === 'finalize';

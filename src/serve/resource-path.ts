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
  if (path.includes('//') || path.endsWith('/')) return undefined;
  const parts = partsOf(path);
  // /api/VERSION is the core group, /apis/GROUP/VERSION any other.
  const root = parts?.[1];
  if (parts === undefined || (root !== 'api' && root !== 'apis')) return undefined;
  const versionAt = root === 'api' ? 2 : 3;
  const group = root === 'api' ? '' : (parts[2] ?? '');
  const version = parts[versionAt];
  const at = versionAt + 1;
  // /namespaces/NAME alone is the namespace itself; followed by a kind it is where that kind's objects are.
  const kindInNamespace = parts[at] === 'namespaces' ? parts[at + 2] : undefined;
  const isInNamespace = kindInNamespace !== undefined && !(group === '' && isNamespacePart(kindInNamespace));
  const kindAt = isInNamespace ? at + 2 : at;
  const plural = parts[kindAt];
  if (version === undefined || plural === undefined || parts.length > kindAt + 3) return undefined;
  return {
    group,
    version,
    namespace: isInNamespace ? parts[at + 1] : undefined,
    plural,
    name: parts[kindAt + 1],
    subresource: parts[kindAt + 2],
  };
}

/** The parts of a path, after an empty one; undefined if they are not what a URL may hold. */
function partsOf(path: string): string[] | undefined {
  const parts = path.split('/');
  if (!path.includes('%')) return parts;
  try {
    return parts.map(decodeURIComponent);
  } catch {
    return undefined;
  }
}

const isNamespacePart = (part: string): boolean => part === 'status' || part === 'finalize';

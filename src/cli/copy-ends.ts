/** A path beside a replica. */
export interface CopyEnd {
  readonly target: string;
  readonly path: string;
}

const remotePattern = /^([a-z]+\/)?([a-z0-9][a-z0-9.-]*):(.+)$/;

/** Which end of a copy is here and which is beside a replica; undefined unless it is one of each. */
export function copyEnds(
  from: string,
  to: string,
): { readonly isUpload: boolean; readonly local: string; readonly remote: CopyEnd } | undefined {
  const [source, destination] = [remoteOf(from), remoteOf(to)];
  if (source !== undefined && destination === undefined)
    return { isUpload: false, local: to, remote: source };
  if (source === undefined && destination !== undefined)
    return { isUpload: true, local: from, remote: destination };
  return undefined;
}

/** TARGET:PATH; a path that begins with a dot or a slash is one here, whatever is in it. */
function remoteOf(word: string): CopyEnd | undefined {
  const [, kind = '', name, path] = remotePattern.exec(word) ?? [];
  return name === undefined || path === undefined ? undefined : { target: `${kind}${name}`, path };
}

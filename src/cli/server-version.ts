import type { BerthClient } from '../client/client.js';

/** What the server says of itself to anybody. */
export async function serverVersion(client: BerthClient): Promise<{ version: string; cell: string }> {
  const { gitVersion, cell } = (await client.read('/version')) as {
    readonly gitVersion: string;
    readonly cell?: string;
  };
  // Before the plus stands which Kubernetes API it speaks.
  return { version: gitVersion.split('+berth.')[1] ?? gitVersion, cell: cell ?? 'unknown' };
}

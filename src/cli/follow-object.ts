import type { BerthObject, KindPath } from '../client/client.js';
import type { Session } from './session.js';

/** What becomes of one object: its states in order, undefined while it is not there. Ends when the signal aborts. */
export async function* followObject(
  { client }: Session,
  path: KindPath,
  name: string,
  signal: AbortSignal,
): AsyncGenerator<BerthObject | undefined, void> {
  let isThere = false;
  const events = client.listThenWatch(path, { fieldSelector: `metadata.name=${name}`, signal });
  for await (const event of events) {
    if (event.type === 'SYNCED') {
      if (!isThere) yield undefined;
    } else {
      isThere = event.type !== 'DELETED';
      yield isThere ? event.object : undefined;
    }
  }
}

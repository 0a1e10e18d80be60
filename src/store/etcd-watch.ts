import type { Env } from '../env/env.js';
import { expired } from './check-read.js';
import { asRevision, type Change, type ChangeSet, type Entry } from './contract.js';
import type { EtcdEndpoints, EtcdMember } from './etcd-endpoints.js';
import { type EtcdKeyValue, watchMethod, type WatchResponse } from './etcd-protocol.js';
import type { WatchBuffer } from './watch-buffer.js';

interface Following {
  readonly endpoints: EtcdEndpoints;
  readonly env: Env;
  readonly from: Buffer;
  readonly to: Buffer;
  readonly entryOf: (keyValue: EtcdKeyValue) => Entry;
  readonly buffer: WatchBuffer;
  /** Aborts when the buffer ends, for whatever reason. */
  readonly signal: AbortSignal;
}

const connectTimeoutMs = 2_000;
const reconnectDelayMsMin = 50;
const reconnectDelayMsMax = 2_000;

/**
 * Feeds a watch from etcd, through as many streams as it takes: when one breaks, the next resumes, on
 * another member, after the last revision that arrived. Ends only with the buffer.
 */
export async function followEtcd(following: Following): Promise<void> {
  const { endpoints, env, buffer, signal } = following;
  let delayMs = reconnectDelayMsMin;
  while (!buffer.isEnded) {
    let member: EtcdMember | undefined;
    const before = buffer.position;
    try {
      member = await endpoints.connected(connectTimeoutMs);
      if (!buffer.isEnded) await followStream(following, member);
    } catch {
      // Whatever broke the stream, the next one starts where this one stopped.
      if (member !== undefined) endpoints.turnFrom(member);
    }
    if (buffer.isEnded) return;
    delayMs = buffer.position > before ? reconnectDelayMsMin : Math.min(delayMs * 2, reconnectDelayMsMax);
    await env.sleep(delayMs * (0.5 + env.random.float() / 2), signal).catch(() => undefined);
  }
}

function followStream(
  { endpoints, from, to, entryOf, buffer, signal }: Following,
  member: EtcdMember,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const stream = endpoints.stream(member, watchMethod);
    const stop = (): void => stream.cancel();
    signal.addEventListener('abort', stop, { once: true });
    const finish = (error?: Error): void => {
      signal.removeEventListener('abort', stop);
      stream.cancel();
      if (error === undefined) resolve();
      else reject(error);
    };
    stream.on('error', finish);
    stream.on('end', () => finish(new Error('etcd ended the watch stream')));
    stream.on('data', (response: WatchResponse) => {
      if (buffer.isEnded) return finish();
      if (response.compact_revision > 0) {
        buffer.end(expired(buffer.position, asRevision(response.compact_revision)));
        return finish();
      }
      if (response.canceled) return finish(new Error(`etcd cancelled the watch: ${response.cancel_reason}`));
      buffer.push(changeSets(response, entryOf));
    });
    // One revision early, and the buffer drops what it has seen: after compaction at C, etcd would serve a
    // watch from C itself without the deletions of that revision, but it refuses one from before C. Zero
    // would mean "from now on"; no key ever changes at revision 1.
    const startRevision = Math.max(1, buffer.position);
    stream.write({ create_request: { key: from, range_end: to, start_revision: startRevision } });
  });
}

/** etcd sends events in revision order and never splits a revision between two messages. */
function changeSets(response: WatchResponse, entryOf: (keyValue: EtcdKeyValue) => Entry): ChangeSet[] {
  const sets: { revision: ChangeSet['revision']; changes: Change[] }[] = [];
  for (const { type, kv } of response.events) {
    const entry = entryOf(kv);
    let set = sets.at(-1);
    if (set === undefined || set.revision !== entry.modRevision) {
      set = { revision: entry.modRevision, changes: [] };
      sets.push(set);
    }
    set.changes.push(type === 'PUT' ? { kind: 'put', entry } : { kind: 'delete', key: entry.key });
  }
  return sets;
}

import { status } from '@grpc/grpc-js';
import type { Env } from '../env/env.js';
import { BerthError } from '../model/errors.js';
import type { Change, ChangeSet, Watch, WatchOptions } from './contract.js';
import type { WatchAnswer } from './etcd-answers.js';
import {
  backoffMs,
  type EtcdEndpoints,
  type EtcdMember,
  type EtcdMethod,
  isServiceError,
} from './etcd-endpoints.js';
import type { WatchRequest } from './etcd-protocol.js';
import { expired } from './history-errors.js';
import { changeBytes, WatchBuffer } from './watch-buffer.js';

interface WatchSource {
  readonly endpoints: EtcdEndpoints;
  readonly env: Env;
  readonly from: Buffer;
  readonly to: Buffer;
  readonly method: EtcdMethod<WatchRequest, WatchAnswer>;
}

const connectTimeoutMs = 2_000;
const reconnectDelayMsMin = 50;
const reconnectDelayMsMax = 2_000;

// What no other member and no later time will change.
const finalCodes: readonly number[] = [
  status.PERMISSION_DENIED,
  status.UNAUTHENTICATED,
  status.INVALID_ARGUMENT,
];

type Turn = IteratorResult<readonly ChangeSet[], undefined>;

/**
 * A watch on etcd, through as many streams as it takes: when one breaks, the next resumes, on another member,
 * after the last revision that arrived. The first stream is opened when the reader first asks: before that,
 * history would only fill the buffer.
 */
export class EtcdWatch implements Watch {
  readonly #buffer: WatchBuffer<Change>;
  readonly #stop = new AbortController();
  #isFollowing = false;

  constructor(
    private readonly source: WatchSource,
    options: WatchOptions,
    onEnd: () => void,
  ) {
    this.#buffer = new WatchBuffer(options, changeBytes, () => {
      this.#stop.abort();
      onEnd();
    });
  }

  next(): Promise<Turn> {
    const turn = this.#buffer.next();
    if (!this.#isFollowing) {
      this.#isFollowing = true;
      void this.#follow();
    }
    return turn;
  }

  return(): Promise<Turn> {
    return this.#buffer.return();
  }

  end(error: Error): void {
    this.#buffer.end(error);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async #follow(): Promise<void> {
    const { endpoints, env } = this.source;
    // etcd refuses an empty range; there is nothing to see in it.
    if (Buffer.compare(this.source.from, this.source.to) >= 0) return;
    let delays = backoffMs(env, reconnectDelayMsMin, reconnectDelayMsMax);
    while (!this.#buffer.isEnded) {
      let member: EtcdMember | undefined;
      const before = this.#buffer.position;
      try {
        member = await endpoints.connected(connectTimeoutMs);
        if (!this.#buffer.isEnded) await this.#followStream(member);
      } catch (error) {
        if (isServiceError(error) && finalCodes.includes(error.code)) {
          this.#buffer.end(
            new BerthError('StoreUnavailable', `etcd refuses the watch: ${error.message}`, { cause: error }),
          );
        }
        // Whatever else broke the stream, the next one starts where this one stopped.
        if (member !== undefined) endpoints.turnFrom(member);
      }
      if (this.#buffer.isEnded) return;
      if (this.#buffer.position > before) delays = backoffMs(env, reconnectDelayMsMin, reconnectDelayMsMax);
      await env.sleep(delays.next().value, this.#stop.signal).catch(() => undefined);
    }
  }

  #followStream(member: EtcdMember): Promise<void> {
    const { endpoints, from, to, method } = this.source;
    const { signal } = this.#stop;
    const buffer = this.#buffer;
    return new Promise((resolve, reject) => {
      const stream = endpoints.stream(member, method);
      const cancel = (): void => stream.cancel();
      signal.addEventListener('abort', cancel, { once: true });
      const finish = (error?: Error): void => {
        signal.removeEventListener('abort', cancel);
        stream.cancel();
        if (error === undefined) resolve();
        else reject(error);
      };
      stream.on('error', finish);
      stream.on('end', () => finish(new Error('etcd ended the watch stream')));
      stream.on('data', (answer: WatchAnswer) => {
        if (buffer.isEnded) return finish();
        if (answer.compactRevision > 0) {
          buffer.end(expired(buffer.position, answer.compactRevision));
          return finish();
        }
        if (answer.isCanceled) return finish(new Error(`etcd cancelled the watch: ${answer.cancelReason}`));
        buffer.push(answer.sets);
      });
      // One revision early, and the buffer drops what it has seen: after compaction at C, etcd would serve a
      // watch from C itself without the deletions of that revision, but it refuses one from before C. Zero
      // would mean "from now on"; no key ever changes at revision 1.
      const startRevision = Math.max(1, buffer.position);
      stream.write({ create_request: { key: from, range_end: to, start_revision: startRevision } });
    });
  }
}

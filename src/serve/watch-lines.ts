import type { Env } from '../env/env.js';
import { isBerthError } from '../model/errors.js';
import type { KindDefinition } from '../model/kind.js';
import type { BerthObject } from '../model/object.js';
import type { ObjectCache } from '../objects/object-cache.js';
import { watchObjects } from '../objects/object-watch.js';
import { statusOf } from './status.js';

export interface WatchRequest {
  /** The kind that is watched in the cache, and the kind the client sees, which may be a view of it. */
  readonly source: KindDefinition;
  readonly apiVersion: string;
  readonly shownKind: string;
  readonly namespace: string | undefined;
  readonly matches: ((object: BerthObject) => boolean) | undefined;
  /** Turns an object into what the client asked for: itself, a table row, its metadata. Called in order. */
  readonly render: (object: BerthObject) => unknown;
  /** The last resourceVersion the client knows. */
  readonly after: number;
  /** The objects to begin with, for a client that wants the list on the stream; then a bookmark says it is complete. */
  readonly initial: readonly BerthObject[] | undefined;
  readonly initialIsBookmarked: boolean;
  readonly bookmarks: boolean;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

const bookmarkEveryMs = 60_000;

const line = (type: string, object: unknown): string => `${JSON.stringify({ type, object })}\n`;

/** The lines of a watch: one JSON event each. Ends by itself when its time is up; an error is its last line. */
export async function* watchLines(
  parts: { readonly cache: ObjectCache; readonly env: Env },
  request: WatchRequest,
): AsyncGenerator<string, void> {
  const { cache, env } = parts;
  const { source, render, after } = request;
  const bookmark = (version: number, isInitialEnd = false): string =>
    line('BOOKMARK', {
      kind: request.shownKind,
      apiVersion: request.apiVersion,
      metadata: {
        resourceVersion: String(version),
        ...(isInitialEnd ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {}),
      },
    });

  for (const object of request.initial ?? []) yield line('ADDED', render(object));
  if (request.initialIsBookmarked) yield bookmark(after, true);

  const over = new AbortController();
  const end = (): void => over.abort();
  const timer = env.after(request.timeoutMs, end);
  request.signal.addEventListener('abort', end, { once: true });
  if (request.signal.aborted) end();
  try {
    yield* withBookmarks(
      watchObjects(cache, source, {
        after,
        signal: over.signal,
        ...(request.namespace === undefined ? {} : { namespace: request.namespace }),
        ...(request.matches === undefined ? {} : { matches: request.matches }),
      }),
    );
  } catch (error) {
    if (!isBerthError(error)) throw error;
    yield line('ERROR', statusOf(error));
  } finally {
    timer.cancel();
    request.signal.removeEventListener('abort', end);
  }

  /** Between changes, now and then, says how far the watch has come, so that a client can resume from there. */
  async function* withBookmarks(changes: ReturnType<typeof watchObjects>): AsyncGenerator<string, void> {
    let told = after;
    let next = changes.next();
    for (;;) {
      let wake: () => void = () => undefined;
      const pause = new Promise<'pause'>((resolve) => {
        wake = (): void => resolve('pause');
      });
      const pauseTimer = env.after(bookmarkEveryMs, wake);
      const turn = await Promise.race([next, pause]);
      pauseTimer.cancel();
      if (turn === 'pause') {
        if (request.bookmarks && cache.version > told) {
          told = cache.version;
          yield bookmark(told);
        }
        continue;
      }
      if (turn.done) return;
      told = turn.value.upTo;
      for (const { type, object } of turn.value.changes) yield line(type, render(object));
      next = changes.next();
    }
  }
}

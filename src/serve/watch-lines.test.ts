import { beforeAll, describe, expect, it } from 'vitest';
import { realEnv } from '../env/real.js';
import type { BerthObject } from '../model/object.js';
import { initialObjects } from '../objects/object-watch.js';
import { kindOf } from '../objects/open-objects.fixture.js';
import { openWithGroup } from '../objects/watched-group.fixture.js';
import { watchLines } from './watch-lines.js';

const Workload = kindOf('Workload');
const env = realEnv();

/** An informer as Kubernetes clients have one: objects by name, and the version to resume a watch at. */
class Informer {
  readonly #objects = new Map<string, string>();

  constructor(public version: number) {}

  get objects(): readonly string[] {
    return [...this.#objects].map(([name, labels]) => `${name} ${labels}`).toSorted();
  }

  put(object: BerthObject): void {
    this.#objects.set(object.metadata.name, JSON.stringify(object.metadata.labels ?? {}));
  }

  hear(line: string): void {
    const { type, object } = JSON.parse(line) as { type: string; object: BerthObject };
    if (type === 'ERROR') throw new Error(line);
    this.version = Number(object.metadata.resourceVersion);
    if (type === 'DELETED') this.#objects.delete(object.metadata.name);
    else if (type !== 'BOOKMARK') this.put(object);
  }
}

const isBlue = (object: BerthObject): boolean => object.metadata.labels?.['colour'] === 'blue';

type Opened = Awaited<ReturnType<typeof openWithGroup>>;

describe('the lines of a watch', () => {
  let opened: Opened;
  beforeAll(async () => {
    opened = await openWithGroup(env);
  });

  /** The lines that a watch brings at once. */
  async function linesNow(
    matches: (object: BerthObject) => boolean,
    after: number,
    initial?: readonly BerthObject[],
  ): Promise<string[]> {
    const stop = new AbortController();
    const lines = watchLines(
      { cache: opened.cache, env },
      {
        ...{
          source: Workload,
          apiVersion: 'berth.dev/v1',
          shownKind: 'Workload',
          namespace: undefined,
          matches,
        },
        ...{ render: (object: BerthObject) => object, after, initial, initialIsBookmarked: false },
        ...{ bookmarks: false, timeoutMs: 60_000, signal: stop.signal },
      },
    );
    const told: string[] = [];
    for (;;) {
      const line = await Promise.race([lines.next(), env.yield().then(() => undefined)]);
      if (line === undefined || line.done === true) break;
      told.push(line.value);
    }
    stop.abort();
    return told;
  }

  /** Cuts the first answer after every byte, and has the client resume at the last version it was told. */
  async function expectNothingLost(
    matches: (object: BerthObject) => boolean,
    listed: readonly BerthObject[],
    after: number,
    initial?: readonly BerthObject[],
  ): Promise<void> {
    const truth = new Informer(0);
    for (const object of opened.last.items) if (matches(object)) truth.put(object);
    const text = (await linesNow(matches, after, initial)).join('');
    expect(text.length).toBeGreaterThan(1_000);
    // By the number of whole lines that arrived: a client cannot read a part of a line.
    const ends = new Map<number, readonly string[]>();
    for (let bytes = 0; bytes <= text.length; bytes++) {
      const whole = text.slice(0, bytes).split('\n').slice(0, -1);
      // A client that was told nothing yet asks for the same again.
      if (whole.length === 0 && initial !== undefined) continue;
      const end = ends.get(whole.length) ?? (await endOf(whole));
      ends.set(whole.length, end);
      expect(end, `cut after ${bytes} of ${text.length} bytes`).toEqual(truth.objects);
    }

    async function endOf(arrived: readonly string[]): Promise<readonly string[]> {
      const informer = new Informer(after);
      for (const object of listed) if (matches(object)) informer.put(object);
      for (const line of arrived) informer.hear(line);
      for (const line of await linesNow(matches, informer.version)) informer.hear(line);
      return informer.objects;
    }
  }

  it('[S11] cut after any byte, lose nothing for a client that resumes at the last version it was told', async () => {
    const { items, version } = opened.first;
    await expectNothingLost(() => true, items, version);
  });

  it('[S11] lose nothing either where a group brings objects into a selection and takes others out', async () => {
    const { items, version } = opened.first;
    await expectNothingLost(isBlue, items, version);
  });

  it('[S11] lose nothing where the watch began with what was there', async () => {
    const { version } = opened.last;
    await expectNothingLost(() => true, [], version, initialObjects(opened.cache, Workload, {}));
  });

  it('[S11] tell nothing again to a client that resumes at the version of a list', async () => {
    expect(await linesNow(() => true, opened.last.version)).toEqual([]);
  });
});

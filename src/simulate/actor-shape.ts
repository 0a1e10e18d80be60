import type { Env } from '../env/env.js';
import { msBetween, plusMs } from '../env/instant.js';
import { sleepOn } from '../env/sleep.js';
import type { NodeHears } from '../model/node-stream.js';
import type { BerthObject } from '../model/object.js';
import type { Objects } from '../model/ports.js';
import { FreshnessObserver } from '../observe/freshness-observer.js';
import type { ControllersParts } from '../reconcile/controllers.js';

/** The parts that differ between a right actor of a simulated cell and a wrong one. A mutant replaces one of the parts. */
export interface ActorShape {
  readonly Observer: typeof FreshnessObserver;
  readonly parts: Pick<ControllersParts, 'spareOf'>;
  /** How repair is held back; as usual if left out. */
  readonly nodes: Pick<NonNullable<ControllersParts['nodes']>, 'brakeRules' | 'repairRates'>;
  /** Objects as the controllers of a server read them. */
  readonly reads: (objects: Objects) => Objects;
  /** The clocks and timers of the controllers of a server, of its node streams, of what keeps jobs up, and of a supervisor. */
  readonly controllersEnv: (env: Env) => Env;
  readonly streamsEnv: (env: Env) => Env;
  readonly jobsEnv: (env: Env) => Env;
  readonly supervisorEnv: (env: Env) => Env;
  /** Whether an agent hears a message of its stream. */
  readonly nodeHears: (message: NodeHears) => boolean;
}

const asTheyAre = <T>(value: T): T => value;

/** The actors as they are. */
export const rightActors: ActorShape = {
  ...{ Observer: FreshnessObserver, parts: {}, nodes: {}, reads: asTheyAre },
  ...{ controllersEnv: asTheyAre, streamsEnv: asTheyAre, jobsEnv: asTheyAre, supervisorEnv: asTheyAre },
  nodeHears: () => true,
};

/** A clock that counts so much for each millisecond, and timers that follow it. Boot time is as it was. */
export const atRate =
  (rate: number) =>
  (env: Env): Env => {
    const begun = env.clock.monotonic();
    const after: Env['after'] = (ms, callback) => env.after(ms / rate, callback);
    return {
      ...env,
      clock: {
        ...env.clock,
        monotonic: () => plusMs(begun, msBetween(begun, env.clock.monotonic()) * rate),
      },
      after,
      sleep: (ms, signal) => sleepOn(after, ms, signal),
    };
  };

/** Objects of one kind are read as `change` makes them; what is written is decided on what is stored, as always. */
export const reading =
  <T extends BerthObject>(kind: T['kind'], change: (object: T) => T) =>
  (objects: Objects): Objects => ({
    get: <A extends BerthObject>(asked: string, namespace: string | undefined, name: string) => {
      const object = objects.get<A>(asked, namespace, name);
      // The kind says which type it is.
      return object !== undefined && asked === kind
        ? (change(object as unknown as T) as unknown as A)
        : object;
    },
    list: (asked, namespace) => objects.list(asked, namespace),
    create: (asked, namespace, draft) => objects.create(asked, namespace, draft),
    modify: (asked, namespace, name, part, edit) => objects.modify(asked, namespace, name, part, edit),
    delete: (asked, namespace, name, uid) => objects.delete(asked, namespace, name, uid),
    follow: (...asked) => objects.follow(...asked),
    get version() {
      return objects.version;
    },
  });

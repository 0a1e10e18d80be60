import type { Env } from '../env/env.js';
import { VirtualTime } from '../env/virtual.js';
import { fenceContract } from '../model/fence-contract.js';
import type {
  NodeBinding,
  NodeEars,
  NodeHears,
  NodeHello,
  NodeLine,
  NodeSays,
  NodeStreams,
} from '../model/node-stream.js';
import type { Outcome, Register, Registered } from '../model/ports.js';
import type { Driver } from './driver.js';
import { usualProfile } from './drivers/hollow-profile.js';
import { HollowDriver } from './drivers/hollow.js';
import { NodeSession } from './node-session.js';
import { Wheel } from './wheel.js';

export const binding = (uid: string, more: Partial<NodeBinding> = {}): NodeBinding => ({
  ...{ replica: { tenant: 't', name: uid, uid }, workload: 'w', slot: '0', revision: 'w-r1', fence: '7' },
  ...{ type: 'Service', isFenced: false, stage: 'Bound', version: 10 },
  template: { run: { process: { command: ['work'] } } },
  ...more,
});

/** A control plane that hears what a node says and answers what a test wants. */
export class FakeStreams implements NodeStreams {
  readonly registered: Register[] = [];
  readonly opened: NodeHello[] = [];
  readonly said: NodeSays[] = [];
  ears: NodeEars | undefined;
  /** Whether opening and renewals are answered. */
  isAnswering = true;

  constructor(readonly registerOutcome?: Outcome<Registered>) {}

  register(input: Register): Promise<Outcome<Registered>> {
    this.registered.push(input);
    const epoch = { cell: 1, number: this.registered.length };
    return Promise.resolve(this.registerOutcome ?? { kind: 'Committed', result: { epoch }, revision: '1' });
  }

  open(hello: NodeHello, ears: NodeEars): NodeLine {
    this.opened.push(hello);
    this.ears = ears;
    this.#renewed(hello.id);
    return {
      say: (message) => {
        this.said.push(message);
        if (message.kind === 'renew') this.#renewed(message.id);
      },
      resume: () => undefined,
      close: () => {
        if (this.ears === ears) this.ears = undefined;
      },
    };
  }

  tell(...bindings: readonly NodeBinding[]): void {
    this.hear({ kind: 'bindings', bindings, gone: [] });
  }

  tellWhole(...bindings: readonly NodeBinding[]): void {
    this.hear({ kind: 'bindings', begins: true, ends: true, bindings, gone: [] });
  }

  hear(message: NodeHears): void {
    this.ears?.hear(message);
  }

  /** The reports so far, as `UID STAGE REASON`. */
  get reports(): string[] {
    return this.said.flatMap((each) =>
      each.kind === 'report' ? [`${each.report.replica.uid} ${each.report.stage} ${each.report.reason}`] : [],
    );
  }

  /** Answers the last report as committed, at a version; or with another outcome. */
  answer(version: number, outcome?: Outcome<never>): void {
    const last = this.said.findLast((each) => each.kind === 'report');
    if (last?.kind !== 'report') throw new Error('nothing was reported');
    const { stage } = last.report;
    this.hear({
      ...{ kind: 'reported', id: last.id },
      outcome: outcome ?? { kind: 'Committed', result: { stage }, revision: String(version) },
    });
  }

  #renewed(id: number): void {
    if (!this.isAnswering) return;
    queueMicrotask(() => this.hear({ kind: 'renewed', id, fence: fenceContract, renewSeconds: 5 }));
  }
}

/** A session of one hollow node on virtual time. */
export const openSession = (registerOutcome?: FakeStreams['registerOutcome']) =>
  openSessionOver(
    (env, wheel) =>
      new HollowDriver({ profile: usualProfile, wheel, env, random: env.random, believesTold: false }),
    registerOutcome,
  );

/** A session of one node, over any driver, on virtual time. */
export function openSessionOver<T extends Driver>(
  makeDriver: (env: Env, wheel: Wheel) => T,
  registerOutcome?: FakeStreams['registerOutcome'],
) {
  const time = new VirtualTime({ seed: 1 });
  const { env } = time.machine('node');
  const streams = new FakeStreams(registerOutcome);
  const wheel = new Wheel(env);
  const driver = makeDriver(env, wheel);
  const session = new NodeSession({
    ...{ streams, driver, env, wheel },
    offer: { node: 'n1', capacity: {}, allocatable: {}, agent: {} },
    onProblem: () => undefined,
  });
  session.start();
  return { time, env, streams, driver, session, run: (forMs: number) => time.run(time.nowMs + forMs) };
}

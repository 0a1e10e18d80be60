import { setTimeout as sleep } from 'node:timers/promises';

/** What `make bench` prints: each figure beside the limit of the machine that was measured in the same run. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** The same work done by the bare machinery, in this run. */
  readonly limit?: { readonly value: number; readonly what: string };
  /** At least (or at most) this; a share is of the limit. */
  readonly target?: { readonly atLeast?: number; readonly atMost?: number; readonly shareOfLimit?: number };
}

export interface Bench {
  readonly name: string;
  readonly title: string;
  run(print: (figure: Figure) => void): Promise<void>;
}

export interface Load {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const middle = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/** Runs `callers` loops beside each other for `ms` and counts what they finish, after a short warm-up. */
export async function load(
  callers: number,
  ms: number,
  once: (caller: number, round: number) => Promise<unknown>,
): Promise<Load> {
  const latencies: number[] = [];
  const warmUntil = performance.now() + ms / 5;
  const until = warmUntil + ms;
  const loop = async (caller: number): Promise<void> => {
    for (let round = 0; performance.now() < until; round++) {
      const startedAt = performance.now();
      await once(caller, round);
      if (startedAt >= warmUntil) latencies.push(performance.now() - startedAt);
    }
  };
  await Promise.all(Array.from({ length: callers }, (_, caller) => loop(caller)));
  latencies.sort((a, b) => a - b);
  return {
    perSecond: latencies.length / (ms / 1000),
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
  };
}

/**
 * Starts calls at a fixed rate, whether or not earlier ones have been answered. A call that finds every caller busy
 * waits for one, and its waiting counts.
 */
export async function pacedLoad(
  callers: number,
  perSecond: number,
  ms: number,
  once: (caller: number, round: number) => Promise<unknown>,
): Promise<Load> {
  const total = Math.round((perSecond * ms) / 1000);
  const latencies: number[] = [];
  const free = Array.from({ length: callers }, (_, caller) => caller);
  const waiting: { readonly round: number; readonly dueAt: number }[] = [];
  const calls: Promise<void>[] = [];
  const start = async (caller: number, round: number, dueAt: number): Promise<void> => {
    await once(caller, round);
    latencies.push(performance.now() - dueAt);
    const next = waiting.shift();
    if (next === undefined) free.push(caller);
    else await start(caller, next.round, next.dueAt);
  };
  const startedAt = performance.now();
  for (let round = 0; round < total;) {
    const dueAt = performance.now();
    for (; round < total && (round * 1000) / perSecond <= dueAt - startedAt; round++) {
      const caller = free.pop();
      if (caller === undefined) waiting.push({ round, dueAt });
      else calls.push(start(caller, round, dueAt));
    }
    await sleep(1);
  }
  await Promise.all(calls);
  latencies.sort((a, b) => a - b);
  return {
    perSecond,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
  };
}

/** The middle one of several runs of two things in turn, so that a disturbance of the machine hits both. */
export async function inTurn(rounds: number, ...runs: (() => Promise<Load>)[]): Promise<Load[]> {
  const results = runs.map(() => [] as Load[]);
  for (let round = 0; round < rounds; round++) {
    for (const [index, run] of runs.entries()) results[index]?.push(await run());
  }
  return results.map((loads) => {
    // At a fixed rate only the latencies differ.
    const sorted = loads.toSorted((a, b) => a.perSecond - b.perSecond || b.p99Ms - a.p99Ms);
    return sorted[Math.floor(sorted.length / 2)] as Load;
  });
}

export function isMissed({ value, limit, target }: Figure): boolean {
  if (target === undefined) return false;
  const share = target.shareOfLimit === undefined ? undefined : target.shareOfLimit * (limit?.value ?? 0);
  return value < (target.atLeast ?? share ?? -Infinity) || value > (target.atMost ?? Infinity);
}

const round = (value: number): string =>
  value >= 100 ? Math.round(value).toLocaleString('en-US') : value.toFixed(value >= 10 ? 1 : 2);

export function shownFigure(figure: Figure): string {
  const { name, value, unit, limit, target } = figure;
  const parts = [`  ${name.padEnd(58)} ${round(value).padStart(10)} ${unit}`];
  if (limit !== undefined) {
    const share = limit.value === 0 ? '' : `; ${Math.round((100 * value) / limit.value)} %`;
    parts.push(`of ${round(limit.value)} (${limit.what}${share})`);
  }
  if (target !== undefined) {
    const asked =
      target.atLeast !== undefined
        ? `at least ${round(target.atLeast)}`
        : target.atMost !== undefined
          ? `at most ${round(target.atMost)}`
          : `at least ${Math.round(100 * (target.shareOfLimit ?? 0))} %`;
    parts.push(`target ${asked}: ${isMissed(figure) ? 'MISSED' : 'met'}`);
  }
  return parts.join('  ');
}

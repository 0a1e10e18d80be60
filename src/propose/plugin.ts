import type { Amount } from '../model/amount.js';
import type { WorkloadRevisionSpec } from '../model/kinds/workload-revision.js';
import { BerthError } from '../model/errors.js';
import type { Node } from '../model/kinds/node.js';
import type { View } from './filters/filter.js';

/** A node as custom filters and scores see it. */
export interface PluginNode {
  readonly name: string;
  readonly region: string;
  readonly zone: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: NonNullable<Node['spec']['taints']>;
  readonly allocatable: Amount;
  /** What is left, with what is on its way there. */
  readonly free: Amount;
  readonly replicas: number;
}

/** The replicas that look for a place: one revision of a workload. */
export interface PluginWork extends WorkloadRevisionSpec {
  readonly tenant: string;
}

export interface CustomFilter {
  readonly name: string;
  /** True: the node will do. Words: it will not, and why, as in "node n1 is too noisy". */
  readonly filter: (work: PluginWork, node: PluginNode) => true | string;
}

export interface CustomScore {
  readonly name: string;
  /** A whole number from 1 to 100: how much it counts beside the weights of the policy. */
  readonly weight: number;
  /** From 0 to 1, more being better, by this node alone. What is outside counts as the nearer end. */
  readonly score: (work: PluginWork, node: PluginNode) => number;
}

/**
 * What a module of custom rules exports: plain functions, pure and quick, for they are asked of every node for every
 * class. What throws refuses the node, or scores it 0, and says so.
 */
export interface Plugin {
  /** Where it came from, for people. */
  readonly source: string;
  /** A hash of its module: by this a decision knows the rules that it was made with, wherever they are kept. */
  readonly digest: string;
  readonly filters: readonly CustomFilter[];
  readonly scores: readonly CustomScore[];
}

const refuse = (source: string, what: string): BerthError =>
  new BerthError('InvalidPlugin', `plugin ${source}: ${what}`);

/** Takes what a module exports; throws what is wrong with it in one sentence. */
export function readPlugin({ source, digest }: Pick<Plugin, 'source' | 'digest'>, module: unknown): Plugin {
  if (typeof module !== 'object' || module === null) throw refuse(source, 'it is not a module');
  const { filters, scores, ...rest } = module as Readonly<Record<string, unknown>>;
  const [unknown] = Object.keys(rest).filter((name) => name !== 'default');
  if (unknown !== undefined) throw refuse(source, `it exports ${unknown}; allowed are filters and scores`);
  if (filters === undefined && scores === undefined)
    throw refuse(source, 'it exports neither filters nor scores, each a list');
  return {
    source,
    digest,
    filters: rulesOf<CustomFilter>(source, 'filters', filters, 'filter', () => undefined),
    scores: rulesOf<CustomScore>(source, 'scores', scores, 'score', ({ weight }, at) => {
      if (!Number.isInteger(weight) || Number(weight) < 1 || Number(weight) > 100)
        throw refuse(source, `${at}.weight is ${String(weight)}; allowed is a whole number from 1 to 100`);
    }),
  };
}

function rulesOf<T>(
  source: string,
  list: string,
  value: unknown,
  method: string,
  check: (rule: Readonly<Record<string, unknown>>, at: string) => void,
): readonly T[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw refuse(source, `${list} is ${typeof value}; allowed is a list`);
  const names = new Set<unknown>();
  return value.map((item: unknown, index) => {
    const at = `${list}[${index}]`;
    if (typeof item !== 'object' || item === null)
      throw refuse(source, `${at} is ${String(item)}; allowed is an object with name and ${method}`);
    const rule = item as Readonly<Record<string, unknown>>;
    if (typeof rule['name'] !== 'string' || rule['name'] === '')
      throw refuse(source, `${at}.name is ${String(rule['name'])}; allowed is a word`);
    if (names.has(rule['name'])) throw refuse(source, `${at}.name ${rule['name']} is there twice`);
    names.add(rule['name']);
    if (typeof rule[method] !== 'function')
      throw refuse(source, `${at}.${method} is ${typeof rule[method]}; allowed is a function`);
    if (Symbol.toStringTag in rule[method])
      throw refuse(
        source,
        `${at}.${method} is async or a generator; allowed is a function that answers at once`,
      );
    check(rule, at);
    return item as T;
  });
}

/** What a plugin is told of a node. */
export function pluginNode({ nodes }: View, row: number): PluginNode {
  const shape = nodes.shapeAt(row);
  const devices = (of: 'free' | 'allocatable'): Readonly<Record<string, number>> =>
    Object.fromEntries(nodes.devices.map((column) => [column.name, column[of][row] as number]));
  return {
    name: nodes.names[row] ?? '',
    region: shape?.region ?? '',
    zone: shape?.zone ?? '',
    labels: shape?.labels ?? {},
    taints: shape?.taints ?? [],
    allocatable: {
      cpuMilli: nodes.cpuAllocatable[row] as number,
      memoryBytes: nodes.memoryAllocatable[row] as number,
      devices: devices('allocatable'),
    },
    free: {
      cpuMilli: nodes.cpuFree[row] as number,
      memoryBytes: nodes.memoryFree[row] as number,
      devices: devices('free'),
    },
    replicas: nodes.replicas[row] as number,
  };
}

export const pluginWork = ({ cls }: View): PluginWork => ({ ...cls.spec, tenant: cls.tenant });

/** Why a custom filter refuses a node; undefined if it does not. */
export function customRefusal(
  { name, filter }: CustomFilter,
  work: PluginWork,
  node: PluginNode,
): string | undefined {
  try {
    const answer: unknown = filter(work, node);
    if (answer === true) return undefined;
    if (isPromise(answer)) return `could not be judged by ${name}: it answered with a promise`;
    return typeof answer === 'string' && answer !== '' ? answer : `is refused by ${name}`;
  } catch (error) {
    return `could not be judged by ${name}: ${error instanceof Error ? error.message : String(error)}`;
  }
}

export function customScore({ score }: CustomScore, work: PluginWork, node: PluginNode): number {
  try {
    const value: unknown = score(work, node);
    if (isPromise(value)) return 0;
    return typeof value === 'number' && value > 0 ? Math.min(1, value) : 0;
  } catch {
    return 0;
  }
}

/** Nobody waits for it. What it comes to is taken from it here: a rejection that nobody takes would end the process. */
function isPromise(answer: unknown): boolean {
  if (!(answer instanceof Promise)) return false;
  answer.catch(() => undefined);
  return true;
}

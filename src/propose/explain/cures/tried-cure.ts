import { type Amount, eachResource } from '../../../model/amount.js';
import type { Cure } from '../../../model/explanation.js';
import type { Amounts } from '../../../model/parts/amounts.js';
import type { CellState } from '../../cell-state.js';
import type { ClassKey, Verdict } from '../../contract.js';
import type { NodeShape } from '../../node-table.js';
import type { SchedulingClass } from '../../scheduling-class.js';
import type { NodeVerdicts } from '../../verdicts.js';

/** What the finders of cures look at: the cell, the class that waits, and what speaks against each node. */
export interface CureContext {
  readonly cell: CellState;
  readonly classKey: ClassKey;
  readonly cls: SchedulingClass;
  /** Nodes that every filter passes. */
  readonly fitting: readonly string[];
  /** The others, those with least against them first. */
  readonly refused: readonly NodeVerdicts[];
  /** What every filter says of a node as the cell is now. */
  readonly ask: (node: string) => readonly Verdict[];
}

/** One thing that a cure changes. */
export interface Part {
  readonly words: string;
  /** What it changes, where the words do not say that alone: two parts of one name differ in how far they go. */
  readonly name?: string;
  /** How far it goes, where that is a quantity. */
  readonly level?: number;
}

/** A cure with the node that the replica would then go to. */
export interface TriedCure {
  readonly cure: Cure;
  readonly node: string;
  readonly parts: readonly Part[];
}

const nameOf = ({ words, name = words }: Part): string => name;
const levelOf = ({ level = 1 }: Part): number => level;

export const sizeOf = ({ parts }: TriedCure): number => sum(parts.map(levelOf));

/** Whether one changes the same object as another, and nothing that the other does not change as far. */
export const isWithin = (smaller: TriedCure, larger: TriedCure): boolean =>
  smaller.cure.kind === larger.cure.kind &&
  smaller.cure.name === larger.cure.name &&
  smaller.parts.every((part) =>
    larger.parts.some((other) => nameOf(other) === nameOf(part) && levelOf(part) <= levelOf(other)),
  );

/** A patch of one object. */
export const patching = (
  object: Pick<Cure, 'kind' | 'namespace' | 'name'>,
  node: string,
  parts: readonly Part[],
  patch: Readonly<Record<string, unknown>>,
  sentence = (words: string): string => words,
): TriedCure => ({
  node,
  parts,
  cure: {
    words: sentence(parts.map(({ words }) => words).join(' and ')),
    ...object,
    change: { type: 'Patch', patch },
  },
});

export const isAllBy = ({ against }: NodeVerdicts, filters: readonly string[]): boolean =>
  against.every(({ filter }) => filters.includes(filter));

export const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);

export function shapeOf({ nodes }: CellState, node: string): NodeShape | undefined {
  const row = nodes.rowOf(node);
  return row === undefined ? undefined : nodes.shapeAt(row);
}

/** The resources of an amount for which a function gives a count; undefined if there is none. */
export function amountWhere(
  amount: Amount,
  countFor: (resource: string, count: number) => number | undefined,
): Amount | undefined {
  const found: { cpuMilli?: number; memoryBytes?: number; replicas?: number } = {};
  const devices: Record<string, number> = {};
  for (const [resource, count] of eachResource(amount)) {
    const value = count === 0 ? undefined : countFor(resource, count);
    if (value === undefined) continue;
    if (resource === 'cpu') found.cpuMilli = value;
    else if (resource === 'memory') found.memoryBytes = value;
    else if (resource === 'replicas') found.replicas = value;
    else devices[resource.slice('device/'.length)] = value;
  }
  const hasDevices = Object.keys(devices).length > 0;
  if (Object.keys(found).length === 0 && !hasDevices) return undefined;
  return { ...found, ...(hasDevices && { devices }) };
}

/** `cpu 2, memory 4Gi, gpu 1`. */
export function shownAmounts({ devices = {}, ...rest }: Amounts & { readonly replicas?: number }): string {
  const parts = [...Object.entries(rest), ...Object.entries(devices)].map(
    ([name, value]) => `${name} ${value}`,
  );
  return parts.length === 0 ? 'nothing in particular' : parts.join(', ');
}

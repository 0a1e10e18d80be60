import type { BerthObject } from '../../../model/object.js';
import type { ParkReason } from '../../../propose/queue/cures.js';
import type { NodeShape } from '../../world/node-shape.js';
import { basics, service } from '../../world/small-cell.js';
import type { SchedulingSetup } from '../../world/scheduling-setup.js';
import { wish } from '../../world/wish.js';
import type { ParkedCell } from './parked-cell.js';

/** When the cure comes: to a replica that is parked, while its attempt is running, or unheard. */
export const timings = ['Parked', 'Attempt', 'Cut', 'Gap'] as const;
export type Timing = (typeof timings)[number];

/** A way to be parked, and the one change that cures it. */
export interface Row {
  /** Names the cure, for people. */
  readonly cure: string;
  readonly nodes: readonly NodeShape[];
  /** The objects that exist before the workload `waits`. */
  readonly wishes: readonly BerthObject[];
  /** The workload `waits` of tenant `shop`. */
  readonly waits: BerthObject;
  /** Further reasons under which it is parked, none of which the change cures. */
  readonly also?: readonly ParkReason[];
  /** Whether the real detector closes gates. */
  readonly detects?: boolean;
  /** Replicas that run before `waits` comes, by workload. */
  readonly up?: Readonly<Record<string, number>>;
  /** Done before anything is there. */
  readonly begin?: (cell: ParkedCell) => void;
  /** Done once those run. `waits` is created when the returned condition holds. */
  readonly prepare?: (cell: ParkedCell) => () => boolean;
  /** Done once `waits` was created. */
  readonly park?: (cell: ParkedCell) => void;
  /** The reason that it tells, if that is another one than it is parked under. */
  readonly tells?: ParkReason;
  readonly act: (cell: ParkedCell) => void;
  /** Where not every timing makes sense. */
  readonly timings?: readonly Timing[];
  /** The replicas wait with their gang, and in no queue. */
  readonly isGang?: boolean;
  /** How long it takes until it is over, if longer than others. */
  readonly lastsMs?: number;
  /** A replica of `waits` still waits at the end. */
  readonly isGone?: boolean;
  readonly scheduling?: Partial<SchedulingSetup>;
}

/** The table's entry: several rows where several changes of one kind are a cure. */
export type Rows = readonly [Row, ...Row[]];

/** The workload that is to be parked. */
export const waits = (resources: object, more: object = {}, template: object = {}): BerthObject =>
  service('shop', 'waits', 1, resources, more, template);

/** A workload of tenant `lab` that takes room. */
export const fill = (resources: object, more: object = {}): BerthObject =>
  service('lab', 'fill', 1, resources, more);

/** The objects of every row: tenants, regions, and priority classes above the default. */
export const cell = (shop: object = {}): readonly BerthObject[] => [
  ...basics('shop', shop),
  wish('Tenant', undefined, 'lab', {}),
  wish('PriorityClass', undefined, 'high', { value: 100 }),
  wish('PriorityClass', undefined, 'higher', { value: 200 }),
  wish('Region', undefined, 'us-east', { jurisdiction: 'US', zones: ['a'] }),
];

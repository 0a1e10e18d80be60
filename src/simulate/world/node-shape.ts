import type { Register } from '../../model/ports.js';

/** The offer of a simulated machine, and the facts that its agent reports. */
export interface NodeShape extends Pick<
  Register,
  'region' | 'zone' | 'labels' | 'taints' | 'devices' | 'allocatable'
> {
  readonly name: string;
  /** The drivers of its agent; all if left out. */
  readonly drivers?: readonly ('process' | 'container')[];
  /** Its supervisor cannot end work in time. */
  readonly isUnfenced?: boolean;
  /** How long its lease lasts without a renewal, if not as long as usual. */
  readonly leaseSeconds?: number;
}

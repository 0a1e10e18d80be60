import type { Register } from '../../model/ports.js';

/** A machine of the simulated world: what its agent registers, and what is peculiar about it. */
export interface NodeShape extends Pick<
  Register,
  'region' | 'zone' | 'labels' | 'taints' | 'devices' | 'allocatable'
> {
  readonly name: string;
  /** What its agent can run; anything if left out. */
  readonly drivers?: readonly ('process' | 'container')[];
  /** Its supervisor cannot end work in time. */
  readonly isUnfenced?: boolean;
  /** How long its lease lasts without a renewal, if not as long as usual. */
  readonly leaseSeconds?: number;
}

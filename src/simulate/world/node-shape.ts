import type { Register } from '../../model/ports.js';

/** What a simulated machine offers, and what its agent says of it. */
export interface NodeShape extends Pick<
  Register,
  'region' | 'zone' | 'labels' | 'taints' | 'devices' | 'allocatable'
> {
  readonly name: string;
  /** What its agent can run; anything if left out. */
  readonly drivers?: readonly ('process' | 'container')[];
  /** Its supervisor cannot end work in time. */
  readonly isUnfenced?: boolean;
}

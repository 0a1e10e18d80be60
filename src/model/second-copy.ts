import type { WorkloadSpec } from './parts/workload-spec.js';

/**
 * [S5] Whether a workload allows a second copy of a slot to start while another one is lost and may still run, as far as its
 * spec of now says. The revisions of both copies must allow it too.
 */
export const allowsSecondCopy = ({ template, onNodeLost }: WorkloadSpec): boolean =>
  template.execution !== 'AtMostOne' && onNodeLost?.action === 'Replace';

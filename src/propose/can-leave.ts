import type { Stage } from '../model/stages.js';

const running: ReadonlySet<Stage> = new Set<Stage>(['Bound', 'Starting', 'Ready', 'Serving']);

/** Whether a replica at this stage can be asked to leave. */
export const canLeave = (stage: Stage): boolean => running.has(stage);

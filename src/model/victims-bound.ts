/**
 * A hold and the evictions that make room for it are one transaction, and a store takes 128 guards in one. A victim that
 * goes whatever its workload allows adds one, its status; one whose workload has a say adds its slot, its workload and the
 * account of that as well. Everything else that a hold relies on fits into what is left. Past the bound the planner looks
 * for fewer and larger victims, or for another node, and the authority answers TooManyVictims.
 */
export const victimsWeightMax = 96;

/** What one victim adds. */
export const victimWeight = (obeysDisruptionLimit: boolean): number => (obeysDisruptionLimit ? 4 : 1);

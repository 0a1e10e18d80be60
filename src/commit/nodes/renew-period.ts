const secondsMin = 5;
const secondsMax = 10;
// What a cell may spend on renewals, as long as the longest period allows. The leases last 40 seconds.
const renewalsPerSecond = 500;

/** How often nodes are asked to renew: less often in a large fleet, so that the write load stays bounded. */
export const renewPeriodSeconds = (nodes: number): number =>
  Math.min(secondsMax, Math.max(secondsMin, nodes / renewalsPerSecond));

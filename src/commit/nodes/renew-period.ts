const secondsMin = 5;
const secondsMax = 10;
// What a cell may spend on renewals, as long as the longest period allows. The leases last 40 seconds.
const renewalsPerSecond = 500;
// A fence stands through so many renewals that are lost in a row.
const renewalsPerPermit = 5;

/**
 * How often nodes are asked to renew: less often in a large fleet, so that the write load stays bounded, and more often
 * only where a short fence asks for it.
 */
export const renewPeriodSeconds = (nodes: number, permitSeconds: number): number =>
  Math.min(
    permitSeconds / renewalsPerPermit,
    Math.min(secondsMax, Math.max(secondsMin, nodes / renewalsPerSecond)),
  );

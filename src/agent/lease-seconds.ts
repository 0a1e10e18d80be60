import { count } from '../model/fields.js';

// Nodes renew every 5 seconds, in a large fleet every 10: one renewal may be late without an expiry.
const leaseSecondsMin = 15;

/** How long a node is believed without a renewal, where somebody says so. */
export const leaseSecondsField = count('How long the lease of a node lasts without a renewal. Default 40.', {
  minimum: leaseSecondsMin,
  maximum: 3_600,
});

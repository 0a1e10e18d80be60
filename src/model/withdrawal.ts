import type { Replica } from './kinds/replica.js';

/**
 * A replica leaves the endpoints before it is asked to stop (DESIGN §4, Ready ↔ Serving). Its node is told that it shall
 * stop once the endpoints have been published without it, or after this long, counted by who tells the node: a cell
 * without an endpoints controller can still stop what it runs.
 */
export const withdrawWaitMs = 20_000;

/** Whether clients may still be sent to a replica that shall stop. */
export const awaitsWithdrawal = ({ status }: Pick<Replica, 'status'>): boolean =>
  status?.isListed === true &&
  (status.stage === 'Releasing' || (status.stage === 'Unknown' && status.intent !== undefined));

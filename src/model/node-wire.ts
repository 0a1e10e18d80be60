import type { NodeHears, NodeHello, NodeSays } from './node-stream.js';
import type { Outcome, Register } from './ports.js';
import type { Epoch } from './records.js';

/**
 * Node streams over one connection: lines of JSON both ways, each with the name of the node it is about. A connection
 * carries one node or thousands, and the rights of its sender are looked at for each.
 */

/** The protocol that a connection is upgraded to (HTTP/1.1 Upgrade), with its version. */
export const nodeProtocol = 'berth-nodes/1';
export const nodeStreamPath = '/apis/nodes.berth.dev/v1/stream';

export type UpLine =
  | { readonly node: string; readonly kind: 'register'; readonly id: number; readonly register: Register }
  | (NodeHello & { readonly kind: 'open' })
  | (NodeSays & { readonly node: string })
  | { readonly node: string; readonly kind: 'close' };

export type DownLine =
  | {
      readonly node: string;
      readonly kind: 'registered';
      readonly id: number;
      readonly outcome: Outcome<{ readonly epoch: Epoch }>;
    }
  | (NodeHears & { readonly node: string })
  /** What was sent makes no sense: the connection ends. */
  | { readonly kind: 'error'; readonly message: string };

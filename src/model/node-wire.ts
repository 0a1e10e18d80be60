import type { NodeHears, NodeHello, NodeSays } from './node-stream.js';
import type { Outcome, Register, Registered } from './ports.js';

/**
 * Node streams over one connection: lines of JSON both ways, each with the name of the node it is about. A connection
 * carries one node or thousands, and the rights of its sender are looked at for each.
 */

/** The protocol that a connection is upgraded to (HTTP/1.1 Upgrade), with its version. */
export const nodeProtocol = 'berth-nodes/2';
export const nodeStreamPath = '/apis/nodes.berth.dev/v1/stream';

/** How a machine becomes a node, and gets another certificate; and the CA, which anybody may read and nobody need trust. */
export const nodesGroup = 'nodes.berth.dev';
export const joinPath = `/apis/${nodesGroup}/v1/join`;
export const renewPath = `/apis/${nodesGroup}/v1/renew`;
export const authorityPath = `/apis/${nodesGroup}/v1/authority`;

/** What a machine asks for. */
export interface JoinRequest {
  readonly node: string;
  /** PKCS#10, PEM: its public key, and the proof that it has the other half. */
  readonly request: string;
  /** Where the machine expects to be. A token for another place is refused, and not used up. */
  readonly region?: string;
  readonly zone?: string;
  /**
   * The boot id of a machine that knows only a loopback address of itself. The address is of use to a server on the same
   * machine alone; any other refuses, and does not use the token up.
   */
  readonly loopbackOf?: string;
}

/** What it gets. */
export interface NodeCredentials {
  readonly node: string;
  readonly region: string;
  readonly zone: string;
  /** For `node:NAME`, PEM. */
  readonly certificate: string;
  /** The CA of the cell, PEM. */
  readonly authority: string;
}

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
      readonly outcome: Outcome<Registered>;
    }
  | (NodeHears & { readonly node: string })
  /** What was sent makes no sense: the connection ends. */
  | { readonly kind: 'error'; readonly message: string };

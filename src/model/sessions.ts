import type { Duplex } from 'node:stream';
import type { ReplicaRef } from './ports.js';

/** What of a replica's output is read. */
export interface LogOptions {
  /** Goes on as it is written, until the replica is over. */
  readonly isFollowed?: boolean;
  /** The execution before the last. */
  readonly isPrevious?: boolean;
  /** Only what was written since then, on the clock of the node: milliseconds since 1970. */
  readonly sinceMs?: number;
  /** Only the last so many records. */
  readonly tailLines?: number;
}

/** The size of a terminal. */
export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** What somebody wants of a replica on its node. */
export type SessionRequest =
  | { readonly kind: 'log'; readonly replica: ReplicaRef; readonly options: LogOptions }
  | {
      readonly kind: 'exec';
      readonly replica: ReplicaRef;
      readonly command: readonly string[];
      readonly tty?: TerminalSize;
    };

/** How a session ended. Without an exit code there was nothing to exit, and the message says why. */
export interface SessionEnd {
  readonly exitCode?: number;
  /** A code of the error table. */
  readonly code?: string;
  readonly message?: string;
}

/** Sessions with replicas on their nodes (docs/logs.md): frames of `session-frames.ts` both ways, until either end closes. */
export interface NodeSessions {
  /** Throws NodeNotConnected if the node cannot be reached. */
  open(node: string, request: SessionRequest): Promise<Duplex>;
}

/** How an agent answers a request that its stream told it of: it opens a connection of its own, under the id it was told. */
export interface SessionDial {
  dial(node: string, id: string): Promise<Duplex>;
}

/** The protocol that a connection is upgraded to (HTTP/1.1 Upgrade), with its version. */
export const sessionProtocol = 'berth-session/1';
/** Where an agent answers; the id follows. */
export const attachPath = '/apis/nodes.berth.dev/v1/attach/';
/** Where a server asks another one of the cell for a session with a node; its name follows. The request is the first line. */
export const peerSessionPath = '/apis/nodes.berth.dev/v1/sessions/';

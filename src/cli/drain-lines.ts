import type { NodeStatus } from '../model/kinds/node.js';
import { formatTable } from './print-table.js';

type NodeDrain = NonNullable<NodeStatus['drain']>;

/** How far a drain has come, in one line. */
export function drainSummary(node: string, drain: NodeDrain): string {
  const { planned = 0, releasing = 0, unknown = 0, released = 0, replaced = 0, message } = drain;
  const counts = [
    `${planned} planned`,
    `${releasing} stopping`,
    ...(unknown > 0 ? [`${unknown} unknown`] : []),
    `${released} released`,
    `${replaced} of them replaced and ready`,
  ];
  const why = message === undefined ? '' : `; ${message}`;
  return `node/${node} ${words[drain.state]}: ${counts.join(', ')}${why}`;
}

const words = { Draining: 'drains', Stuck: 'drains, and is stuck', Complete: 'is drained' } as const;

/** All of it, as a terminal shows it. */
export function drainTable(node: string, drain: NodeDrain, rowsMost: number): string[] {
  const rows = drain.replicas ?? [];
  const shown = rows.slice(0, rowsMost);
  const table = formatTable(
    ['REPLICA', 'STATE', 'NEXT MOVE', 'MESSAGE'],
    shown.map(({ replica, state, nextMove = '', message = '' }) => [replica, state, nextMove, message]),
    // Lines are cut to the terminal: without colour nothing is cut in two that must not be.
    {},
  );
  const more = rows.length - shown.length;
  return [
    drainSummary(node, drain),
    ...(shown.length === 0 ? [] : table.split('\n')),
    ...(more > 0 ? [`… and ${more} more`] : []),
  ];
}

/** What is new since the last look: one line for each replica that has come further, and whose move it is. */
export function drainNews(before: NodeDrain | undefined, drain: NodeDrain): string[] {
  const known = new Map(before?.replicas?.map((row) => [row.uid, row]));
  return (drain.replicas ?? []).flatMap(({ replica, uid, state, message, nextMove }) => {
    if (known.get(uid)?.state === state) return [];
    const move = nextMove === undefined ? '' : ` (next move: ${nextMove})`;
    return [`${replica} ${state}${message === undefined ? '' : `: ${message}`}${move}`];
  });
}

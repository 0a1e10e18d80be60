import { type WallInstant, wallMs } from '../env/instant.js';
import { shownAge } from '../model/age.js';
import type { Cure, Explanation, NodeVerdicts, PlacementFacts } from '../model/explanation.js';
import { formatTable } from './print-table.js';
import { painted } from './terminal.js';

// With what stands before it, a line of names has at most 120 columns.
const width = 116;
const decisionNodesWidth = 40;

/** An explanation for people: the first line is the answer, what it rests on follows. */
export function explanationLines(explanation: Explanation, now: WallInstant): string[] {
  const ago = (at: string): string => shownAge(wallMs(now) - Date.parse(at));
  const { placement, decisions, notes } = explanation;
  return [
    painted('bold', explanation.answer, process.stdout),
    ...section('Where it stands', standing(explanation, now)),
    ...section('Besides', notes),
    ...(placement === undefined ? [] : placementLines(placement)),
    ...section(
      'Last decisions',
      decisions.length === 0
        ? ['none is kept']
        : formatTable(
            ['NAME', 'AGE', 'RESULT', 'SNAPSHOT', 'OLD', 'ANSWERS', 'NODES'],
            decisions.map((each) => [
              each.name,
              ago(each.at),
              each.reason === undefined ? each.result : `${each.result}: ${each.reason}`,
              each.snapshotRevision,
              `${Math.round(each.snapshotAgeMs)}ms`,
              counted(each.answers) || '-',
              each.nodes.length === 0 ? '-' : named(each.nodes, each.nodes.length, decisionNodesWidth),
            ]),
          )
            .trimEnd()
            .split('\n'),
    ),
  ];
}

/** The verdicts on one node for people: the first line is the answer. */
export const verdictLines = ({ answer, verdicts }: NodeVerdicts): string[] => [
  painted('bold', answer, process.stdout),
  ...formatTable(
    ['FILTER', 'VERDICT', 'REASON', 'MESSAGE'],
    verdicts.map(({ filter, passes, reason = '', message = '' }) => [
      filter,
      passes ? 'passes' : 'refuses',
      reason,
      message,
    ]),
  )
    .trimEnd()
    .split('\n'),
];

function standing(explanation: Explanation, now: WallInstant): string[] {
  const { stages, limitedBy, reason, message, since, nextMove, deadline, operation, node } = explanation;
  const ms = (at: string): number => wallMs(now) - Date.parse(at);
  const shownStages = counted(stages);
  const until = (at: string): string =>
    ms(at) > 0 ? `, until ${at} (${shownAge(ms(at))} ago)` : `, until ${at} (in ${shownAge(-ms(at))})`;
  const rows: (readonly [string, string | undefined])[] = [
    ['stages', shownStages === '' ? 'no replicas' : shownStages],
    ['node', node],
    ['limited by', limitedBy],
    ['reason', reason],
    ['message', message],
    ['since', since === undefined ? undefined : `${since} (${shownAge(ms(since))} ago)`],
    [
      'next move',
      nextMove === undefined ? undefined : `${nextMove}${deadline === undefined ? '' : until(deadline)}`,
    ],
    ['operation', operation],
  ];
  return rows.flatMap(([name, value]) => (value === undefined ? [] : [`${name.padEnd(12)}${value}`]));
}

function placementLines({
  replica,
  revision,
  isPlaceable,
  quota,
  nodes,
  fits,
  ...rest
}: PlacementFacts): string[] {
  const { rejections, cures, room, together } = rest;
  const fit = fits.count === 0 ? 'none takes' : `${fits.count} take`;
  const some = fits.nodes.length === 0 ? '' : `: ${named(fits.nodes, fits.count, 60)}`;
  const widest = Math.max(...rejections.map(({ count }) => String(count).length));
  const refused = rejections.flatMap(({ reason, count, nodes: names, message }) => {
    const head = `${String(count).padStart(widest)} ${reason}: `;
    return [`${head}${named(names.slice(0, 4), count, width - head.length)}`, `    ${message}`];
  });
  return [
    ...section(`Nodes (at revision ${revision})`, [
      ...(together === undefined
        ? []
        : [`of ${together.wanted} members of its gang ${together.places} find a place at once`]),
      `of ${nodes} ${fit} ${replica} now${some}`,
      ...(quota === undefined ? [] : [`${quota.reason}: ${quota.message}`]),
      ...(room === undefined
        ? []
        : [`the scheduler makes room on ${room.node}: ${room.evictions} have to leave`]),
      ...refused,
    ]),
    ...section(
      'What would help',
      isPlaceable
        ? []
        : cures.length === 0
          ? [
              `no change of a single object; in its way: ${[quota, ...rejections].flatMap((each) => each?.reason ?? []).join(', ')}`,
            ]
          : cures.flatMap(cureLines),
    ),
  ];
}

function cureLines({ words, kind, namespace, name, change }: Cure): string[] {
  if (change.type !== 'Patch') return [`- ${words}`];
  const where = namespace === undefined ? '' : ` -n ${namespace}`;
  const patch = JSON.stringify(change.patch);
  return [`- ${words}`, `    kubectl patch ${kind.toLowerCase()} ${name}${where} --type merge -p '${patch}'`];
}

const section = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : ['', painted('bold', title, process.stdout), ...lines.map((line) => `  ${line}`)];

const counted = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ');

/** As many of the names as there is room for, one at least, and how many more there are. */
function named(names: readonly string[], count: number, columns: number): string {
  for (let some = names.length; ; some--) {
    const more = count > some ? `, … (${count - some} more)` : '';
    const shown = names.slice(0, some).join(', ') + more;
    if (shown.length <= columns || some <= 1) return shown;
  }
}

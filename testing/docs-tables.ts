import { errorTable } from '../src/model/errors.js';
import { reasonTable } from '../src/model/reasons.js';
import { isTerminal, stageRules, stages } from '../src/model/stages.js';

const callerMayWords = {
  never: 'nothing: the same request fails again',
  backoff: 'try again later, backing off',
  refresh: 'look again, then decide anew',
  readBack: 'read back by the operation id',
};

/** A table in the form that pages have. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** The page docs/tables.md: the tables of the model, for people. Only the model decides what it says. */
export function renderTables(): string {
  const moves = stageRules.map((rule) => [
    `${rule.from.join(', ')} → ${rule.to.join(', ')}`,
    rule.owners.join(', '),
    rule.evidence,
    rule.onDeadline ?? '–',
  ]);
  const reasons = Object.entries(reasonTable).map(([name, { meaning, cure, callerMay }]) => [
    name,
    meaning,
    cure,
    callerMayWords[callerMay],
  ]);
  const errors = Object.entries(errorTable).map(([code, { httpStatus, meaning, callerMay }]) => [
    code,
    String(httpStatus),
    meaning,
    callerMayWords[callerMay],
  ]);
  return `# Stages, reasons and errors

This page is made from \`src/model\`. After a change there, \`npm test -- docs-tables -u\` writes it again.

## Stages of a replica

${stages.map((stage) => (isTerminal(stage) ? `**${stage}**` : stage)).join(', ')}. Nothing leaves the ones in bold.
\`none\` stands for a replica that does not exist yet.

${table(['move', 'whose it is', 'evidence it carries', 'what its deadline does'], moves)}

## Why the authority rejects

${table(['reason', 'meaning', 'what cures it', 'the caller may'], reasons)}

## Errors

${table(['code', 'HTTP status', 'meaning', 'the caller may'], errors)}
`;
}

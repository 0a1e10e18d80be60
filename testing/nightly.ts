// `make nightly`: 100 fresh seeds of every scenario and every planted defect, as many at once as there are cores, and one
// table at the end. FROM=SEED repeats a run. Each row is one process of `berth simulate`, so that a row that does not end
// is ended after `rowMsMax` and the others go on.
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { formatTable } from '../src/cli/print-table.js';
import { mutants, scenarios } from '../src/main/simulate.js';
import { NightlyRow, type Row } from './nightly-row.js';

const berth = fileURLToPath(new URL('../src/cli/berth.js', import.meta.url));
const seeds = 100;
const rowMsMax = 20 * 60_000;

const from = process.env['FROM'] === undefined ? randomInt(999_000_000) : Number(process.env['FROM']);
if (!Number.isSafeInteger(from) || from < 0 || from > 999_000_000) {
  process.stderr.write(`FROM: "${process.env['FROM']}" is not a whole number from 0 to 999000000\n`);
  process.exit(64);
}

const tasks: readonly NightlyRow[] = [
  ...scenarios.map(({ name }) => new NightlyRow('scenario', name, { from, seeds })),
  ...mutants.map(({ name }) => new NightlyRow('defect', name, { from })),
];

async function run(task: NightlyRow): Promise<Row> {
  const startedAt = performance.now();
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  const child = spawn(process.execPath, [berth, ...task.words], { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
  const timer = setTimeout(() => child.kill('SIGKILL'), rowMsMax);
  const status = await new Promise<number | null>((resolve) => void child.once('close', resolve));
  clearTimeout(timer);
  return task.row({
    status,
    stdout: Buffer.concat(out).toString(),
    stderr: Buffer.concat(err).toString(),
    ms: performance.now() - startedAt,
  });
}

const startedAt = performance.now();
const minutes = (): string => `${((performance.now() - startedAt) / 60_000).toFixed(1)} min`;
const rows = new Map<NightlyRow, Row>();
const waiting = [...tasks];

async function work(): Promise<void> {
  for (let task = waiting.shift(); task !== undefined; task = waiting.shift()) {
    const row = await run(task);
    rows.set(task, row);
    process.stderr.write(
      `${minutes()}: ${rows.size} of ${tasks.length}: ${row.cells[0]} ${row.cells[1]}: ${row.cells[4]}\n`,
    );
  }
}

process.stderr.write(
  `${scenarios.length} scenarios with ${seeds} seeds each from ${from}, and ${mutants.length} planted defects from the same seed\n`,
);
await Promise.all(Array.from({ length: availableParallelism() }, work));

const inOrder = tasks.flatMap((task) => rows.get(task) ?? []);
process.stdout.write(
  `${formatTable(
    ['WHAT', 'NAME', 'SEEDS', 'TIME', 'RESULT'],
    inOrder.map(({ cells }) => cells),
  )}\n`,
);
for (const { details } of inOrder) for (const line of details) process.stdout.write(`${line}\n`);
const unwell = inOrder.filter(({ isWell }) => !isWell).length;
process.stdout.write(
  `${inOrder.length} rows in ${minutes()}, ${unwell === 0 ? 'all as they should be' : `${unwell} not as they should be`}; to repeat: make nightly FROM=${from}\n`,
);
process.exitCode = unwell === 0 ? 0 : 1;

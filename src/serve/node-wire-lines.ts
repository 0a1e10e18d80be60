import { BerthError } from '../model/errors.js';
import { node as nodeKind } from '../model/kinds/node.js';
import type { UpLine } from '../model/node-wire.js';
import { usageSamplesMax } from '../model/usage.js';
import type { Validator } from '../model/validate.js';
import { checkOperationInput, wrongFields } from './operation-inputs.js';

const shapes = {
  register: { node: 'text', id: 'number', register: 'fields' },
  open: { node: 'text', id: 'number', epoch: 'epoch' },
  renew: { node: 'text', id: 'number' },
  report: { node: 'text', id: 'number', report: 'fields' },
  close: { node: 'text' },
} as const;
const kinds = Object.keys(shapes);
// It is kept with the node's epoch.
const journalLengthMax = 253;

/** A line that a node has sent, or a BerthError that says what is wrong with it. */
export function checkUpLine(text: string, validator: Validator): UpLine {
  const line = parsed(text);
  const { kind } = (line ?? {}) as { kind?: unknown };
  if (typeof kind !== 'string' || !kinds.includes(kind))
    throw wrong(`kind: got ${JSON.stringify(kind)?.slice(0, 100)}, allowed are ${kinds.join(', ')}`);
  const problem = wrongFields('', shapes[kind as keyof typeof shapes], line);
  if (problem !== undefined) throw wrong(`${kind}: ${problem}`);
  // A parsed boundary: the fields have been checked just now.
  const message = line as UpLine;
  if (message.kind === 'register') checkRegister(message, validator);
  if (message.kind === 'renew' && message.usage !== undefined) checkUsage(message.usage);
  if (message.kind === 'report')
    checkOperationInput('report', {
      ...message.report,
      node: message.node,
      nodeEpoch: { cell: 0, number: 0 },
    });
  return message;
}

/** What replicas use is numbers that can be, of not too many at once. */
function checkUsage(usage: unknown): void {
  if (!Array.isArray(usage) || usage.length > usageSamplesMax)
    throw wrong(`renew: usage: must be a list of at most ${usageSamplesMax} samples`);
  for (const [index, sample] of usage.entries()) {
    const at = `usage[${index}]`;
    const problem =
      wrongFields(at, { uid: 'text', restarts: 'number', oomKills: 'number' }, sample) ??
      wrongRunning(at, sample as { readonly running?: unknown }) ??
      wrongNumber(at, sample as object);
    if (problem !== undefined) throw wrong(`renew: ${problem}`);
  }
}

function wrongRunning(at: string, { running }: { readonly running?: unknown }): string | undefined {
  if (running === undefined) return undefined;
  const fields = { measuredMs: 'number', cpuSeconds: 'number', memoryBytes: 'number' } as const;
  return wrongFields(`${at}.running`, fields, running) ?? wrongNumber(`${at}.running`, running as object);
}

/** JSON can say 1e999, which is read as infinite. */
function wrongNumber(at: string, fields: object): string | undefined {
  const found = Object.entries(fields).find(
    ([, value]) => typeof value === 'number' && !(Number.isFinite(value) && value >= 0),
  );
  return found && `${at}.${found[0].slice(0, 100)}: must be a finite number, not below 0`;
}

/** The node that a registration may make must be one that an operator could have made. */
function checkRegister(
  { node, register }: UpLine & { readonly kind: 'register' },
  validator: Validator,
): void {
  checkOperationInput('register', { ...register, node });
  const { region, zone, labels, taints, capacity, allocatable, devices, agent } = register;
  const { journal }: { readonly journal?: unknown } = register;
  if (journal !== undefined && (typeof journal !== 'string' || journal.length > journalLengthMax))
    throw wrong(`register: journal: must be a text of at most ${journalLengthMax} characters`);
  const given = (fields: object): object =>
    Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  const [problem] = validator.validate(nodeKind, {
    ...{ apiVersion: 'berth.dev/v1', kind: 'Node', metadata: given({ name: node, labels }) },
    spec: given({ region, zone, taints }),
    status: given({ capacity, allocatable, devices, agent }),
  });
  if (problem === undefined) return;
  const { path, value, message } = problem;
  throw wrong(
    `register: ${[path, ...(value === undefined ? [] : [JSON.stringify(value)]), message].join(': ')}`,
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw wrong('a line is not JSON');
  }
}

const wrong = (problem: string): BerthError => new BerthError('BadRequest', `node stream: ${problem}`);

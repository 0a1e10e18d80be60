import { BerthError } from '../model/errors.js';
import type { UpLine } from '../model/node-wire.js';
import { checkOperationInput, wrongFields } from './operation-inputs.js';

const shapes = {
  register: { node: 'text', id: 'number', register: 'fields' },
  open: { node: 'text', id: 'number', epoch: 'epoch' },
  renew: { node: 'text', id: 'number' },
  report: { node: 'text', id: 'number', report: 'fields' },
  close: { node: 'text' },
} as const;
const kinds = Object.keys(shapes);

/** A line that a node has sent, or a BerthError that says what is wrong with it. */
export function checkUpLine(text: string): UpLine {
  const line = parsed(text);
  const { kind } = (line ?? {}) as { kind?: unknown };
  if (typeof kind !== 'string' || !kinds.includes(kind))
    throw wrong(`kind: got ${JSON.stringify(kind)?.slice(0, 100)}, allowed are ${kinds.join(', ')}`);
  const problem = wrongFields('', shapes[kind as keyof typeof shapes], line);
  if (problem !== undefined) throw wrong(`${kind}: ${problem}`);
  // A parsed boundary: the fields have been checked just now.
  const message = line as UpLine;
  if (message.kind === 'register')
    checkOperationInput('register', { ...message.register, node: message.node });
  if (message.kind === 'report')
    checkOperationInput('report', {
      ...message.report,
      node: message.node,
      nodeEpoch: { cell: 0, number: 0 },
    });
  return message;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw wrong('a line is not JSON');
  }
}

const wrong = (problem: string): BerthError => new BerthError('BadRequest', `node stream: ${problem}`);

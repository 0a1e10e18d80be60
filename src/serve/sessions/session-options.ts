import { BerthError } from '../../model/errors.js';
import type { LogOptions, TerminalSize } from '../../model/sessions.js';
import { isTrue } from '../request-options.js';

/** text: what was written, byte for byte. json: the records with time, stream and labels, one in a line. */
export type LogFormat = 'text' | 'json';

/** `follow`, `previous`, `sinceTime`, `tailLines`, as Kubernetes names them for pods, and `format`. */
export function logOptionsOf(query: URLSearchParams): { options: LogOptions; format: LogFormat } {
  const sinceTime = query.get('sinceTime');
  const sinceMs = sinceTime === null ? undefined : Date.parse(sinceTime);
  if (sinceMs !== undefined && Number.isNaN(sinceMs))
    throw new BerthError('BadRequest', `sinceTime: ${JSON.stringify(sinceTime)} is no time`);
  const tailLines = wholeNumber(query, 'tailLines', 1_000_000_000);
  const format = query.get('format') ?? 'text';
  if (format !== 'text' && format !== 'json')
    throw new BerthError('BadRequest', `format: ${JSON.stringify(format)} is neither text nor json`);
  return {
    format,
    options: {
      ...(isTrue(query, 'follow') && { isFollowed: true }),
      ...(isTrue(query, 'previous') && { isPrevious: true }),
      ...(sinceMs !== undefined && { sinceMs }),
      ...(tailLines !== undefined && { tailLines }),
    },
  };
}

// It travels in the address of requests, which are bounded.
const commandBytesMax = 16 * 1024;
const terminalMax = 10_000;

/** `command` once for each word, `tty`, and with it `columns` and `rows`. */
export function execOptionsOf(query: URLSearchParams): { command: string[]; tty?: TerminalSize } {
  const command = query.getAll('command');
  if (command.length === 0) throw new BerthError('BadRequest', 'command: what shall be run?');
  const bytes = command.reduce((sum, word) => sum + Buffer.byteLength(word), 0);
  if (bytes > commandBytesMax)
    throw new BerthError('BadRequest', `command: ${bytes} bytes are more than ${commandBytesMax}`);
  if (command.some((word) => word.includes('\0')))
    throw new BerthError('BadRequest', 'command: a word of a command line cannot hold a zero byte');
  if (!isTrue(query, 'tty')) return { command };
  const columns = wholeNumber(query, 'columns', terminalMax) ?? 80;
  const rows = wholeNumber(query, 'rows', terminalMax) ?? 24;
  return { command, tty: { columns, rows } };
}

function wholeNumber(query: URLSearchParams, name: string, max: number): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const value = Number(text);
  if (!/^\d+$/.test(text) || value > max)
    throw new BerthError('BadRequest', `${name}: ${JSON.stringify(text)} is no whole number up to ${max}`);
  return value;
}

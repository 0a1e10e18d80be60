import { defectLine } from '../model/defect-text.js';
import { errorTable, isBerthError } from '../model/errors.js';
import type { Problem } from '../reconcile/runtime/requeue.js';

export const logLevels = ['error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof logLevels)[number];

/** Something that an operator may want to know: one line of the log. */
export interface LogEvent {
  readonly level: LogLevel;
  /** The part of Berth that tells it: a controller, the server, the agent. */
  readonly component: string;
  /** The object that the event is about: a node, NAMESPACE/NAME, a lease. */
  readonly object?: string;
  readonly message: string;
  /** Facts for programs that read the log. */
  readonly fields?: Readonly<Record<string, string | number | boolean | undefined>>;
  /** The failure behind the event: its stack trace is logged where BERTH_DEBUG asks for it. */
  readonly error?: unknown;
}

export type Log = (event: LogEvent) => void;

/** An error as an event: a code of the table is a failure that was foreseen, anything else a defect. */
export function errorEvent(component: string, error: unknown): LogEvent {
  return isBerthError(error)
    ? { level: 'error', component, message: error.message, fields: { code: error.code }, error }
    : { level: 'error', component, message: `defect: ${defectLine(error)}`, error };
}

/** The callbacks of parts that know of no log. */
export const callbacksFor = (
  log: Log,
  component: string,
): { readonly onProblem: (message: string) => void; readonly onDefect: (error: unknown) => void } => ({
  onProblem: (message) => log({ level: 'warn', component, message }),
  onDefect: (error) => log(errorEvent(component, error)),
});

/** A problem that a controller met, as an event. Changes by others in between are everyday: the controller looks again. */
export function problemEvent({ controller, key, message, cause, level }: Problem): LogEvent {
  const about = key === '' ? {} : { object: key };
  if (cause !== undefined && !isBerthError(cause)) return { ...errorEvent(controller, cause), ...about };
  const isEveryday = isBerthError(cause) && errorTable[cause.code].callerMay === 'refresh';
  return { level: level ?? (isEveryday ? 'debug' : 'warn'), component: controller, ...about, message };
}

import type { Env } from '../env/env.js';
import { wallTimestamp } from '../env/instant.js';
import { debugText } from '../model/defect-text.js';
import type { Log, LogLevel } from './log.js';
import { plainLine } from './plain-line.js';
import { withoutSecrets } from './without-secrets.js';

export const logFormats = ['plain', 'json'] as const;

export interface OpenLogOptions {
  readonly format: (typeof logFormats)[number];
  /** Events below it are left out. */
  readonly level: LogLevel;
  readonly env: Env;
  /** Takes one event, with its line end. */
  readonly write: (line: string) => void;
}

const messageLengthMax = 2_000;

/** The log of a process: a line for each event, for people or as JSON. */
export async function openLog({ format, level: least, env, write }: OpenLogOptions): Promise<Log> {
  // Commands that end at once never load it.
  const { pino } = await import('pino');
  const logger = pino(
    {
      level: least,
      base: null,
      timestamp: () => `,"time":"${wallTimestamp(env.clock.wall())}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    {
      write: (line: string) => {
        const clean = withoutSecrets(line);
        write(format === 'json' ? clean : plainLine(clean));
      },
    },
  );
  return ({ level, component, object, message, fields, error }) => {
    const line = message.replaceAll(/\s+/g, ' ').trim().slice(0, messageLengthMax);
    const stack = debugText(error);
    logger[level](
      {
        ...{ component, ...(object !== undefined && { object }), ...fields },
        ...(stack !== undefined && { stack }),
      },
      line,
    );
  };
}

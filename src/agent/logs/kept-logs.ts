import type { Env } from '../../env/env.js';
import type { LogLabels } from '../../model/log-record.js';
import { type LogQuery, LogReader } from './log-reader.js';
import { type LogLimits, logLimitsUsual, LogRetention } from './log-retention.js';
import { logBounds, LogWriter } from './log-writer.js';

export interface KeptLogsParts {
  readonly dir: string;
  readonly env: Env;
  /** Whether a replica is on this node, running or not: its log stays. */
  readonly isLive: (uid: string) => boolean;
  readonly limits?: LogLimits;
}

/** All logs of a machine: DIR/TENANT/REPLICA_UID/EXECUTION-PART.jsonl (docs/logs.md). */
export class KeptLogs {
  readonly #reader: LogReader;
  readonly #retention: LogRetention;

  constructor(private readonly parts: KeptLogsParts) {
    this.#reader = new LogReader(parts);
    this.#retention = new LogRetention({ ...parts, limits: parts.limits ?? logLimitsUsual });
  }

  open(labels: LogLabels): Promise<LogWriter> {
    const { dir, env } = this.parts;
    return LogWriter.open({ ...logBounds, dir, env, labels });
  }

  read(query: LogQuery): AsyncGenerator<string, void> {
    return this.#reader.read(query);
  }

  /** Removes what is old of replicas that are over. To be called every few minutes. */
  sweep(): Promise<number> {
    return this.#retention.sweep();
  }
}

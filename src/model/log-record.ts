import { isUtf8 } from 'node:buffer';

/** Which execution of which replica wrote a line: what a log shipper files it under. */
export interface LogLabels {
  readonly tenant: string;
  readonly workload: string;
  readonly replica: string;
  readonly uid: string;
  readonly slot: string;
  readonly execution: number;
  readonly node: string;
}

/** `berth`: not the job's own, but what Berth has to say about its output. */
export type LogStream = 'stdout' | 'stderr' | 'berth';

/** One line of a log file (docs/logs.md). */
export interface LogRecord extends LogLabels {
  readonly time: string;
  readonly stream: LogStream;
  /** Without its line end. Where the bytes are not UTF-8, what is not is shown as U+FFFD. */
  readonly message: string;
  /** The bytes as they were written, where they are not UTF-8. */
  readonly base64?: string;
  /** No line end followed: the line goes on in the next record of its stream, or was the last. */
  readonly partial?: boolean;
}

/** Makes lines of one execution; what is the same in all of them is encoded once. */
export function recordEncoder(
  labels: LogLabels,
): (time: string, stream: LogStream, bytes: Buffer, isPartial: boolean) => Buffer {
  const { tenant, workload, replica, uid, slot, execution, node } = labels;
  const same = JSON.stringify({ tenant, workload, replica, uid, slot, execution, node });
  const tail = `,${same.slice(1)}\n`;
  return (time, stream, bytes, isPartial) => {
    const own = {
      ...{ time, stream, message: bytes.toString() },
      ...(!isUtf8(bytes) && { base64: bytes.toString('base64') }),
      ...(isPartial && { partial: true }),
    };
    return Buffer.from(JSON.stringify(own).slice(0, -1) + tail);
  };
}

/** Undefined for what is no record: the end of a file whose writer was killed in the middle of a line. */
export function parseRecord(line: string): LogRecord | undefined {
  try {
    // A parsed boundary: files that only a LogWriter writes.
    const record = JSON.parse(line) as Partial<LogRecord> | null;
    const isWhole = typeof record?.time === 'string' && typeof record.message === 'string';
    return isWhole ? (record as LogRecord) : undefined;
  } catch {
    return undefined;
  }
}

/** What the job wrote, byte for byte. */
export function bytesOf(record: Pick<LogRecord, 'message' | 'base64' | 'partial'>): Buffer {
  const { message, base64, partial } = record;
  const bytes = base64 === undefined ? Buffer.from(message) : Buffer.from(base64, 'base64');
  return partial === true ? bytes : Buffer.concat([bytes, lineEnd]);
}

const lineEnd = Buffer.from('\n');

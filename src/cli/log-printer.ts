import { bytesOf, type LogRecord, parseRecord } from '../model/log-record.js';
import { writeOut } from './write-out.js';
import { say } from './terminal.js';

export interface LogPrinterOptions {
  /** Before each line. */
  readonly prefix: string;
  readonly timestamps?: boolean;
  readonly output?: 'json';
}

/** Prints records as what was written, byte for byte; what Berth has to say of them goes to standard error. */
export class LogPrinter {
  // Where a line has begun and not ended, by stream: nothing is put before what continues it.
  readonly #open = new Set<string>();

  constructor(private readonly options: LogPrinterOptions) {}

  async print(line: string): Promise<void> {
    const record = parseRecord(line);
    if (record === undefined) return;
    if (record.stream === 'berth') return say(`${this.options.prefix}[${record.message}]`);
    if (this.options.output === 'json') return writeOut(process.stdout, `${line}\n`);
    const before = this.#open.has(record.stream) ? '' : this.#before(record);
    if (record.partial === true) this.#open.add(record.stream);
    else this.#open.delete(record.stream);
    await writeOut(process.stdout, Buffer.concat([Buffer.from(before), bytesOf(record)]));
  }

  /** A last line without an end gets one where something follows it. */
  end(): void {
    if (this.#open.size > 0 && this.options.prefix !== '') process.stdout.write('\n');
  }

  #before({ time }: LogRecord): string {
    return `${this.options.prefix}${this.options.timestamps === true ? `${time} ` : ''}`;
  }
}

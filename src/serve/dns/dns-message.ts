import assert from 'node:assert';

/**
 * The wire format of DNS (RFC 1035, 2782, 6891), as far as an authoritative server of one small zone needs it. Pure: bytes
 * in, a question out; an answer in, bytes out. Whatever the bytes are, reading them ends and never throws.
 */

export const recordTypes = { A: 1, NS: 2, SOA: 6, AAAA: 28, SRV: 33, OPT: 41, ANY: 255 } as const;
export const rcodes = { NoError: 0, FormErr: 1, NxDomain: 3, NotImp: 4, Refused: 5, BadVers: 16 } as const;
export type Rcode = keyof typeof rcodes;

export interface DnsQuery {
  readonly id: number;
  readonly opcode: number;
  readonly isRecursionDesired: boolean;
  /** The question as it was asked, to be said again in the answer; undefined: it could not be read. */
  readonly question: DnsQuestion | undefined;
  readonly edns: { readonly udpBytesMax: number; readonly version: number } | undefined;
}

export interface DnsQuestion {
  /** In small letters, the root last and left out. */
  readonly labels: readonly string[];
  readonly type: number;
  readonly class: number;
  readonly bytes: Buffer;
}

/** One record. Its name is that of the question unless another is given, as it is written. */
export interface DnsRecord {
  readonly name?: Buffer;
  readonly type: keyof typeof recordTypes;
  readonly ttlSeconds: number;
  readonly data: Buffer;
  /** The address of what this record leads to: it comes along if there is room. Records in a row may share one. */
  readonly leadsTo?: DnsRecord;
}

export interface DnsAnswer {
  readonly rcode: Rcode;
  /** Taken one by one, and no more of them than fit. */
  readonly answers: Iterable<DnsRecord>;
  readonly authority: readonly DnsRecord[];
}

const headerBytes = 12;
const internet = 1;
/** What we can take over UDP without fragments on common networks. */
export const udpBytesOffered = 1_232;
const udpBytesPlain = 512;
const labelBytesMax = 63;
const nameBytesMax = 255;
// A query has one question and a few records besides; more is nothing we would read.
const recordsMax = 16;

/** Reads a query. Undefined: it is none, or an answer; who sent it hears nothing. */
export function readQuery(bytes: Buffer): DnsQuery | undefined {
  if (bytes.length < headerBytes) return undefined;
  const flags = bytes.readUInt16BE(2);
  if ((flags & 0x8000) !== 0) return undefined;
  const common = {
    id: bytes.readUInt16BE(0),
    opcode: (flags >> 11) & 0xf,
    isRecursionDesired: (flags & 0x0100) !== 0,
  };
  const unreadable = { ...common, question: undefined, edns: undefined };
  if (bytes.readUInt16BE(4) !== 1) return unreadable;
  const name = readName(bytes, headerBytes);
  if (name === undefined || name.end + 4 > bytes.length) return unreadable;
  const question: DnsQuestion = {
    labels: name.labels,
    type: bytes.readUInt16BE(name.end),
    class: bytes.readUInt16BE(name.end + 2),
    bytes: bytes.subarray(headerBytes, name.end + 4),
  };
  const others = [6, 8, 10].reduce((sum, at) => sum + bytes.readUInt16BE(at), 0);
  const edns = readEdns(bytes, name.end + 4, others);
  return edns === 'unreadable' ? unreadable : { ...common, question, edns };
}

/** A name in a query: labels one after the other. A pointer there would point at nothing yet. */
function readName(
  bytes: Buffer,
  start: number,
): { readonly labels: readonly string[]; readonly end: number } | undefined {
  const labels: string[] = [];
  let at = start;
  for (;;) {
    const length = bytes[at];
    if (length === undefined || length > labelBytesMax || at - start > nameBytesMax) return undefined;
    at += 1;
    if (length === 0) return { labels, end: at };
    if (at + length > bytes.length) return undefined;
    labels.push(
      bytes
        .subarray(at, at + length)
        .toString('latin1')
        .toLowerCase(),
    );
    at += length;
  }
}

function readEdns(bytes: Buffer, start: number, records: number): DnsQuery['edns'] | 'unreadable' {
  if (records > recordsMax) return 'unreadable';
  let at = start;
  let edns: DnsQuery['edns'];
  for (let record = 0; record < records; record++) {
    const end = skipName(bytes, at);
    if (end === undefined || end + 10 > bytes.length) return 'unreadable';
    const length = bytes.readUInt16BE(end + 8);
    if (end + 10 + length > bytes.length) return 'unreadable';
    if (bytes.readUInt16BE(end) === recordTypes.OPT) {
      // Two of them make no sense.
      if (edns !== undefined) return 'unreadable';
      edns = { udpBytesMax: bytes.readUInt16BE(end + 2), version: bytes[end + 5] ?? 0 };
    }
    at = end + 10 + length;
  }
  return edns;
}

function skipName(bytes: Buffer, start: number): number | undefined {
  for (let at = start; at - start <= nameBytesMax;) {
    const length = bytes[at];
    if (length === undefined) return undefined;
    if (length === 0) return at + 1;
    // A pointer ends a name.
    if ((length & 0xc0) === 0xc0) return at + 2;
    if (length > labelBytesMax) return undefined;
    at += length + 1;
  }
  return undefined;
}

/** How long an answer may be for who asked so over UDP. */
export const udpBytesFor = ({ edns }: DnsQuery): number =>
  edns === undefined ? udpBytesPlain : Math.min(udpBytesOffered, Math.max(udpBytesPlain, edns.udpBytesMax));

/**
 * An answer in at most so many bytes. Answers that do not fit are left out, with the mark that says so (TC): over UDP the
 * client then asks for all of them over TCP; there it has some. Addresses that come along are left out without it.
 */
export function writeAnswer(query: DnsQuery, answer: DnsAnswer, bytesMax: number): Buffer {
  const { id, opcode, isRecursionDesired, question, edns } = query;
  const code = rcodes[answer.rcode];
  const opt = edns === undefined ? undefined : writeOpt(code >> 4);
  const bytes = Buffer.allocUnsafe(bytesMax);
  const records = new RecordWriter(bytes, headerBytes, bytesMax - (opt?.length ?? 0));
  if (question !== undefined) records.copy(question.bytes);

  const comeAlong: DnsRecord[] = [];
  const counts = { answers: 0, authority: 0, additional: 0 };
  let isTruncated = false;
  for (const record of answer.answers) {
    if (!records.write(record)) {
      isTruncated = true;
      break;
    }
    counts.answers += 1;
    if (record.leadsTo !== undefined && record.leadsTo !== comeAlong.at(-1)) comeAlong.push(record.leadsTo);
  }
  for (const record of answer.authority) if (records.write(record)) counts.authority += 1;
  for (const record of isTruncated ? [] : comeAlong) {
    if (!records.write(record)) break;
    counts.additional += 1;
  }
  if (opt !== undefined) {
    opt.copy(bytes, records.end);
    counts.additional += 1;
  }

  bytes.writeUInt16BE(id, 0);
  // An answer (QR), with authority (AA).
  const flags =
    0x8400 | (opcode << 11) | (isTruncated ? 0x0200 : 0) | (isRecursionDesired ? 0x0100 : 0) | (code & 0xf);
  bytes.writeUInt16BE(flags, 2);
  bytes.writeUInt16BE(question === undefined ? 0 : 1, 4);
  for (const [index, count] of Object.values(counts).entries()) bytes.writeUInt16BE(count, 6 + index * 2);
  return bytes.subarray(0, records.end + (opt?.length ?? 0));
}

/** Puts records one after the other, and none beyond the limit. */
class RecordWriter {
  constructor(
    private readonly bytes: Buffer,
    public end: number,
    private readonly limit: number,
  ) {}

  copy(part: Buffer): void {
    this.end += part.copy(this.bytes, this.end);
  }

  write({ name = questionName, type, ttlSeconds, data }: DnsRecord): boolean {
    if (this.end + name.length + fixedBytes + data.length > this.limit) return false;
    this.copy(name);
    this.bytes.writeUInt16BE(recordTypes[type], this.end);
    this.bytes.writeUInt16BE(internet, this.end + 2);
    this.bytes.writeUInt32BE(ttlSeconds, this.end + 4);
    this.bytes.writeUInt16BE(data.length, this.end + 8);
    this.end += fixedBytes;
    this.copy(data);
    return true;
  }
}

/** The name of the question, which stands right after the header. */
const questionName = Buffer.from([0xc0, headerBytes]);
/** Of a record, between its name and its data. */
const fixedBytes = 10;

function writeOpt(extendedCode: number): Buffer {
  const opt = Buffer.alloc(11);
  opt.writeUInt16BE(recordTypes.OPT, 1);
  opt.writeUInt16BE(udpBytesOffered, 3);
  opt[5] = extendedCode;
  return opt;
}

/** A name, from labels of 1 to 63 bytes each. */
export function writeName(labels: readonly string[]): Buffer {
  return Buffer.concat([
    ...labels.map((label) => {
      assert(label.length > 0 && label.length <= labelBytesMax, `${label} is a label`);
      return Buffer.from(`${String.fromCodePoint(label.length)}${label}`, 'latin1');
    }),
    Buffer.from([0]),
  ]);
}

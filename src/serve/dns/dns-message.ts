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

/** One record. The name is that of the question unless labels are given. */
export interface DnsRecord {
  readonly labels?: readonly string[];
  readonly type: keyof typeof recordTypes;
  readonly ttlSeconds: number;
  readonly data: Buffer;
}

export interface DnsAnswer {
  readonly rcode: Rcode;
  readonly answers: readonly DnsRecord[];
  readonly authority: readonly DnsRecord[];
  readonly additional: readonly DnsRecord[];
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
 * An answer in at most so many bytes. What does not fit is left out: first what is additional, then, with the mark that
 * says so (TC), the answers that are too many. Over UDP the client then asks for all of them over TCP; there it has some.
 */
export function writeAnswer(query: DnsQuery, answer: DnsAnswer, bytesMax: number): Buffer {
  const whole = write(query, answer, false);
  if (whole.length <= bytesMax) return whole;
  const needed = write(query, { ...answer, additional: [] }, false);
  if (needed.length <= bytesMax) return needed;
  const cut = { ...answer, answers: [], authority: [], additional: [] };
  const restBytes = bytesMax - write(query, cut, true).length;
  return write(query, { ...cut, answers: firstOf(answer.answers, restBytes) }, true);
}

/** As many of them, from the first on, as fit into so many bytes. */
function firstOf(records: readonly DnsRecord[], bytesMax: number): readonly DnsRecord[] {
  let bytes = 0;
  const tooMuch = records.findIndex((record) => (bytes += writeRecord(record).length) > bytesMax);
  return tooMuch === -1 ? records : records.slice(0, tooMuch);
}

function write(query: DnsQuery, answer: DnsAnswer, isTruncated: boolean): Buffer {
  const { id, opcode, isRecursionDesired, question, edns } = query;
  const code = rcodes[answer.rcode];
  const records = [answer.answers, answer.authority, answer.additional];
  const header = Buffer.alloc(headerBytes);
  header.writeUInt16BE(id, 0);
  // An answer (QR), with authority (AA).
  const flags =
    0x8400 | (opcode << 11) | (isTruncated ? 0x0200 : 0) | (isRecursionDesired ? 0x0100 : 0) | (code & 0xf);
  header.writeUInt16BE(flags, 2);
  header.writeUInt16BE(question === undefined ? 0 : 1, 4);
  for (const [index, section] of records.entries()) header.writeUInt16BE(section.length, 6 + index * 2);
  if (edns !== undefined) header.writeUInt16BE(answer.additional.length + 1, 10);
  return Buffer.concat([
    header,
    ...(question === undefined ? [] : [question.bytes]),
    ...records.flat().map(writeRecord),
    ...(edns === undefined ? [] : [writeOpt(code >> 4)]),
  ]);
}

/** The name of the question, which stands right after the header. */
const questionName = Buffer.from([0xc0, headerBytes]);

function writeRecord({ labels, type, ttlSeconds, data }: DnsRecord): Buffer {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(recordTypes[type], 0);
  fixed.writeUInt16BE(internet, 2);
  fixed.writeUInt32BE(ttlSeconds, 4);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([labels === undefined ? questionName : writeName(labels), fixed, data]);
}

function writeOpt(extendedCode: number): Buffer {
  const opt = Buffer.alloc(11);
  opt.writeUInt16BE(recordTypes.OPT, 1);
  opt.writeUInt16BE(udpBytesOffered, 3);
  opt[5] = extendedCode;
  return opt;
}

export function writeName(labels: readonly string[]): Buffer {
  return Buffer.concat([
    ...labels.map((label) => {
      const bytes = Buffer.from(label, 'latin1').subarray(0, labelBytesMax);
      return Buffer.concat([Buffer.from([bytes.length]), bytes]);
    }),
    Buffer.from([0]),
  ]);
}

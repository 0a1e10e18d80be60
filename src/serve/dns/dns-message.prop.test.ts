import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../../env/random.js';
import { answerQuestion, type DnsSource } from './answer-question.js';
import { readQuery, udpBytesFor, writeAnswer } from './dns-message.js';
import { queryBytes, serviceOf } from './dns.fixture.js';

const service = serviceOf(
  'api',
  Array.from({ length: 200 }, (_, slot) => ({
    ...{ replica: `api-${slot}-1`, node: 'n1', address: `10.0.0.${slot}`, ports: { http: 8_080 } },
  })),
);
const source: DnsSource = { hasTenant: () => true, service: () => service };
const random = new SeededRandom('dns');

/** What a server does with whatever comes. */
function answerTo(bytes: Buffer): Buffer | undefined {
  const query = readQuery(bytes);
  return query && writeAnswer(query, answerQuestion(query, source, random), udpBytesFor(query));
}

describe('DNS messages', () => {
  it('whatever the bytes are, reading and answering ends, keeps the id and stays within what UDP takes', () => {
    const bytes = fc.uint8Array({ maxLength: 600 });
    fc.assert(
      fc.property(bytes, (any) => {
        const answer = answerTo(Buffer.from(any));
        if (answer === undefined) return;
        expect(answer.length).toBeLessThanOrEqual(1_232);
        expect(answer.readUInt16BE(0)).toBe(Buffer.from(any).readUInt16BE(0));
        expect(answer.readUInt16BE(2) & 0x8000).toBe(0x8000);
      }),
      { numRuns: 2_000 },
    );
  });

  it('a good query with some bytes changed, cut or added never does harm either', () => {
    const good = queryBytes('_http._tcp.api.shop.berth', 33, { udpBytes: 1_232 });
    const changes = fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { maxLength: 6 });
    fc.assert(
      fc.property(changes, fc.nat(good.length), fc.uint8Array({ maxLength: 40 }), (some, length, more) => {
        const changed = Buffer.from(good);
        for (const [at, value] of some) changed[at] = value;
        const answer = answerTo(Buffer.concat([changed.subarray(0, length), more]));
        expect(answer?.length ?? 0).toBeLessThanOrEqual(1_232);
      }),
      { numRuns: 2_000 },
    );
  });

  it('says that an answer is too long, as much as the client says it takes', () => {
    const truncated = (bytes: Buffer | undefined): boolean => ((bytes?.readUInt16BE(2) ?? 0) & 0x0200) !== 0;
    expect(truncated(answerTo(queryBytes('api.shop.berth', 1)))).toBe(true);
    expect(answerTo(queryBytes('api.shop.berth', 1))?.length).toBeLessThanOrEqual(512);
    expect(truncated(answerTo(queryBytes('api-3-1.api.shop.berth', 1)))).toBe(false);
    const query = readQuery(queryBytes('api.shop.berth', 1));
    if (query === undefined) throw new Error('a good query');
    expect(truncated(writeAnswer(query, answerQuestion(query, source, random), 65_535))).toBe(false);
  });

  it('keeps as many answers as fit: a service too large for any message is still found', () => {
    const query = readQuery(queryBytes('api.shop.berth', 1));
    if (query === undefined) throw new Error('a good query');
    const answers = Array.from({ length: 10_000 }, () => ({
      ...({ type: 'A', ttlSeconds: 5, data: Buffer.from([10, 0, 0, 1]) } as const),
    }));
    const large = { rcode: 'NoError', answers, authority: [] } as const;
    for (const bytesMax of [512, 65_535]) {
      const bytes = writeAnswer(query, large, bytesMax);
      expect(bytes.length).toBeLessThanOrEqual(bytesMax);
      expect(bytes.length).toBeGreaterThan(bytesMax - 16);
      expect(bytes.readUInt16BE(6)).toBe((bytes.length - 12 - (query.question?.bytes.length ?? 0)) / 16);
    }
  });
});

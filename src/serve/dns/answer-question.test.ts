import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../../env/random.js';
import { answerQuestion, type DnsSource } from './answer-question.js';
import {
  type DnsQuery,
  type DnsRecord,
  readQuery,
  recordTypes,
  udpBytesFor,
  writeAnswer,
} from './dns-message.js';
import { type Addresses, namesIn, queryBytes, serviceOf } from './dns.fixture.js';
import type { ServiceRecords } from './service-records.js';

const addresses: Addresses = [
  { replica: 'api-0-1', node: 'n1', address: '10.0.0.1', ports: { http: 8_080, admin: 9_000 } },
  { replica: 'api-1-1', node: 'n2', address: '2001:db8::7', ports: { http: 8_081 } },
  { replica: 'api-2-1', node: 'n3', address: 'n3', ports: { http: 8_082 } },
];
const sourceOf = (...services: readonly (readonly [string, ServiceRecords])[]): DnsSource => ({
  hasTenant: (tenant) => tenant === 'shop',
  service: (_tenant, workload) => new Map(services).get(workload),
});
const source = sourceOf(['api', serviceOf('api', addresses)], ['idle', serviceOf('idle', [])]);
const inOrder = { integer: () => 0 };
const ask = (
  name: string,
  type: keyof typeof recordTypes,
  more: Partial<DnsQuery> = {},
  cls = 1,
  of: DnsSource = source,
) => {
  const answer = answerQuestion(
    {
      ...{ id: 1, opcode: 0, isRecursionDesired: false, edns: undefined },
      question: { labels: name.split('.'), type: recordTypes[type], class: cls, bytes: Buffer.alloc(0) },
      ...more,
    },
    of,
    inOrder,
  );
  return { ...answer, answers: [...answer.answers] };
};

describe('what a name of the zone leads to', () => {
  it.each<[string, keyof typeof recordTypes, string, number]>([
    ['api.shop.berth', 'A', 'NoError', 1],
    ['api.shop.berth', 'AAAA', 'NoError', 1],
    ['api.shop.berth', 'SRV', 'NoError', 4],
    ['api.shop.berth', 'ANY', 'NoError', 6],
    ['_http._tcp.api.shop.berth', 'SRV', 'NoError', 3],
    ['_admin._tcp.api.shop.berth', 'SRV', 'NoError', 1],
    ['_admin._tcp.api.shop.berth', 'A', 'NoError', 0],
    ['_nope._tcp.api.shop.berth', 'SRV', 'NxDomain', 0],
    ['_tcp.api.shop.berth', 'A', 'NoError', 0],
    ['api-0-1.api.shop.berth', 'A', 'NoError', 1],
    ['api-2-1.api.shop.berth', 'A', 'NoError', 0],
    ['api-9-1.api.shop.berth', 'A', 'NxDomain', 0],
    ['x.api-0-1.api.shop.berth', 'A', 'NxDomain', 0],
    ['idle.shop.berth', 'A', 'NoError', 0],
    ['nope.shop.berth', 'A', 'NxDomain', 0],
    ['shop.berth', 'A', 'NoError', 0],
    ['nope.berth', 'A', 'NxDomain', 0],
    ['berth', 'SOA', 'NoError', 1],
    ['berth', 'A', 'NoError', 0],
    ['example.org', 'A', 'Refused', 0],
  ])('%s %s is %s with %d answers', (name, type, rcode, count) => {
    const answer = ask(name, type);
    expect([answer.rcode, answer.answers.length]).toEqual([rcode, count]);
    const isNegative = count === 0 && rcode !== 'Refused';
    expect(answer.authority.map((record) => record.type)).toEqual(isNegative ? ['SOA'] : []);
  });

  it('targets of SRV come with their addresses; one that is known by its machine is at the machine', () => {
    const { answers } = ask('_http._tcp.api.shop.berth', 'SRV');
    expect(
      answers.map(({ leadsTo }) => leadsTo && `${namesIn(leadsTo.name).join('.')} ${leadsTo.type}`),
    ).toEqual(['api-0-1.api.shop.berth A', 'api-1-1.api.shop.berth AAAA', undefined]);
    expect(answers[0]?.data.readUInt16BE(4)).toBe(8_080);
    expect(answers[2]?.data.subarray(6)).toEqual(Buffer.from('\u0002n3\u0000', 'latin1'));
    expect(ask('api.shop.berth', 'AAAA').answers[0]?.data.toString('hex')).toBe(
      '20010db8000000000000000000000007',
    );
  });

  it('what is not served is said so: other operations, classes and versions', () => {
    expect(ask('api.shop.berth', 'A', { opcode: 4 }).rcode).toBe('NotImp');
    expect(ask('api.shop.berth', 'A', { question: undefined }).rcode).toBe('FormErr');
    expect(ask('api.shop.berth', 'A', { edns: { udpBytesMax: 512, version: 1 } }).rcode).toBe('BadVers');
    expect(ask('api.shop.berth', 'A', {}, 3).rcode).toBe('Refused');
  });
});

describe('whatever a replica is called', () => {
  const [long, label] = ['w'.repeat(60), /^[0-9a-f]{16}$/];
  it.each([
    ['as its name is one label', 'api', 'api-0-1', /^api-0-1$/],
    ['too long for a label', long, `${long}-0-12`, label],
    ['after a node with dots in its name', 'logs', 'logs-web-1.dc1.example.com-1', label],
  ])('its ports lead to a name that leads to its address: %s', (_, workload, replica, shape) => {
    const service = serviceOf(workload, [{ replica, node: 'n', address: '10.0.0.1', ports: { http: 80 } }]);
    const of = sourceOf([workload, service]);
    const [srv] = ask(`_http._tcp.${workload}.shop.berth`, 'SRV', {}, 1, of).answers;
    const [first, ...rest] = namesIn(srv?.data.subarray(6));
    expect([first, rest]).toEqual([expect.stringMatching(shape), [workload, 'shop', 'berth']]);
    const answer = ask([first, ...rest].join('.'), 'A', {}, 1, of);
    expect(answer).toMatchObject({ rcode: 'NoError', answers: [{ data: Buffer.from([10, 0, 0, 1]) }] });
  });

  it('an address that no name can say leads nowhere, and the others are found', () => {
    const broken = ['a..b', 'x'.repeat(64), 'two words'].map((address, slot) => ({
      ...{ replica: `odd-${slot}-1`, node: 'n', address, ports: { http: 80 } },
    }));
    const of = sourceOf(
      ['odd', serviceOf('odd', broken)],
      ['api', serviceOf('api', [...broken, ...addresses])],
    );
    expect(ask('odd.shop.berth', 'SRV', {}, 1, of)).toMatchObject({
      answers: [],
      authority: [{ type: 'SOA' }],
    });
    expect(ask('_http._tcp.api.shop.berth', 'SRV', {}, 1, of).answers).toHaveLength(3);
  });
});

describe('of a service of 10,000', () => {
  const many = Array.from({ length: 10_000 }, (_, slot) => ({
    ...{ replica: `api-${slot}-1`, node: `n${slot}`, address: `10.0.${slot >> 8}.${slot & 255}` },
    ports: { http: 8_080, metrics: 9_090 },
  }));
  const large = sourceOf(['api', serviceOf('api', many)]);
  const random = new SeededRandom('dns');
  /** What is written, and how many records were made for it. */
  function asked(type: number, bytesMax?: number): { readonly bytes: Buffer; readonly made: number } {
    const query = readQuery(queryBytes('api.shop.berth', type));
    if (query === undefined) throw new Error('a good query');
    const answer = answerQuestion(query, large, random);
    let made = 0;
    function* counted(records: Iterable<DnsRecord>): Generator<DnsRecord> {
      for (const record of records) {
        made += 1;
        yield record;
      }
    }
    const answers = counted(answer.answers);
    return { bytes: writeAnswer(query, { ...answer, answers }, bytesMax ?? udpBytesFor(query)), made };
  }

  it.each([
    ['A', recordTypes.A, undefined, 31],
    ['SRV', recordTypes.SRV, undefined, 12],
    ['MX, which it has not', 15, undefined, 0],
    ['AAAA, which it has not', recordTypes.AAAA, undefined, 0],
    ['A over TCP', recordTypes.A, 65_535, 4_096],
  ])('no more is made than there is room for: %s', (_, type, bytesMax, most) => {
    const { bytes, made } = asked(type, bytesMax);
    expect(made).toBeLessThanOrEqual(most);
    expect(bytes.readUInt16BE(6), 'all but the one that found no room').toBe(Math.max(0, made - 1));
  });

  it('every one has its turn', () => {
    const seen = new Set<string>();
    // Each is among some 4,000 of 10,000 in each answer: none should be left out of so many.
    for (let query = 0; query < 60; query++) {
      const { bytes } = asked(recordTypes.A, 65_535);
      for (let end = bytes.length, left = bytes.readUInt16BE(6); left > 0; left--, end -= 16)
        seen.add(bytes.subarray(end - 4, end).join('.'));
    }
    expect(seen.size).toBe(10_000);
  });
});

import { describe, expect, it } from 'vitest';
import type { EndpointsStatus } from '../../model/kinds/endpoints.js';
import { answerQuestion, type DnsSource } from './answer-question.js';
import { type DnsQuery, recordTypes } from './dns-message.js';

const addresses: EndpointsStatus['addresses'] = [
  { replica: 'api-0-1', node: 'n1', address: '10.0.0.1', ports: { http: 8_080, admin: 9_000 } },
  { replica: 'api-1-1', node: 'n2', address: '2001:db8::7', ports: { http: 8_081 } },
  { replica: 'api-2-1', node: 'n3', address: 'n3', ports: { http: 8_082 } },
];
const source: DnsSource = {
  hasTenant: (tenant) => tenant === 'shop',
  endpoints: (_tenant, workload) => {
    if (workload === 'api') return { addresses };
    return workload === 'idle' ? {} : undefined;
  },
};
const ask = (name: string, type: keyof typeof recordTypes, more: Partial<DnsQuery> = {}, cls = 1) =>
  answerQuestion(
    {
      ...{ id: 1, opcode: 0, isRecursionDesired: false, edns: undefined },
      question: { labels: name.split('.'), type: recordTypes[type], class: cls, bytes: Buffer.alloc(0) },
      ...more,
    },
    source,
  );

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
    const { answers, additional } = ask('_http._tcp.api.shop.berth', 'SRV');
    expect(additional.map(({ labels, type }) => `${labels?.join('.')} ${type}`)).toEqual([
      ...['api-0-1.api.shop.berth A', 'api-1-1.api.shop.berth AAAA'],
    ]);
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

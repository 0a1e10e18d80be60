import { isIP, isIPv4 } from 'node:net';
import type { EndpointsStatus } from '../../model/kinds/endpoints.js';
import {
  type DnsAnswer,
  type DnsQuery,
  type DnsRecord,
  type Rcode,
  recordTypes,
  writeName,
} from './dns-message.js';

/** What the zone is made from. */
export interface DnsSource {
  /** The endpoints of a workload; undefined: there are none of that name. */
  endpoints(tenant: string, workload: string): EndpointsStatus | undefined;
  hasTenant(tenant: string): boolean;
}

export const zone = 'berth';
/** Replicas come and go: nobody shall remember them for long, nor that there were none. */
const ttlSeconds = 5;
const internet = 1;

type Address = NonNullable<EndpointsStatus['addresses']>[number];

/**
 * The names of the zone (DESIGN: `WORKLOAD.TENANT.berth`): A and AAAA of a service and of each of its replicas, SRV of a
 * service and of each port of it. A name that exists without such a record is not one that does not exist.
 */
export function answerQuestion(query: DnsQuery, source: DnsSource): DnsAnswer {
  const { question, opcode, edns } = query;
  if (opcode !== 0) return refused('NotImp');
  if (question === undefined) return refused('FormErr');
  if (edns !== undefined && edns.version !== 0) return refused('BadVers');
  const { labels, type } = question;
  if (question.class !== internet || labels.at(-1) !== zone) return refused('Refused');
  const found = recordsOf(labels.slice(0, -1), source);
  if (found === undefined) return { ...refused('NxDomain'), authority: [soa] };
  const isAny = type === recordTypes.ANY;
  const answers = found.records.filter((record) => isAny || recordTypes[record.type] === type);
  if (answers.length === 0) return { ...refused('NoError'), authority: [soa] };
  const additional = answers.some((record) => record.type === 'SRV') ? found.additional : [];
  return { rcode: 'NoError', answers, authority: [], additional };
}

const refused = (rcode: Rcode): DnsAnswer => ({ rcode, answers: [], authority: [], additional: [] });

interface Found {
  readonly records: readonly DnsRecord[];
  readonly additional: readonly DnsRecord[];
}

const nothing: Found = { records: [], additional: [] };

/** What there is under a name within the zone; undefined: no such name. */
function recordsOf(labels: readonly string[], source: DnsSource): Found | undefined {
  if (labels.length === 0) return { records: [{ type: 'SOA', ttlSeconds, data: soa.data }], additional: [] };
  const [tenant = '', workload, ...rest] = labels.toReversed();
  if (!source.hasTenant(tenant)) return undefined;
  if (workload === undefined) return nothing;
  const endpoints = source.endpoints(tenant, workload);
  if (endpoints === undefined) return undefined;
  const service = [workload, tenant, zone];
  const addresses = endpoints.addresses ?? [];
  const [first, second, ...more] = rest;
  if (first === undefined)
    return {
      records: [...addresses.flatMap(hostRecords), ...srvOf(addresses, service)],
      additional: hostsOf(addresses, service),
    };
  if (more.length > 0) return undefined;
  if (first === '_tcp') {
    if (second === undefined) return nothing;
    const withPort = addresses.filter(({ ports = {} }) => Object.hasOwn(ports, second.slice(1)));
    if (!second.startsWith('_') || withPort.length === 0) return undefined;
    return {
      records: srvOf(withPort, service, second.slice(1)),
      additional: hostsOf(withPort, service),
    };
  }
  const replica = addresses.find((address) => address.replica === first);
  if (second !== undefined || replica === undefined) return undefined;
  return { records: hostRecords(replica), additional: [] };
}

/** A and AAAA of one replica. One whose address is a name has none. */
function hostRecords({ address }: Address): readonly DnsRecord[] {
  if (isIP(address) === 0) return [];
  return isIPv4(address)
    ? [{ type: 'A', ttlSeconds, data: Buffer.from(address.split('.').map(Number)) }]
    : [{ type: 'AAAA', ttlSeconds, data: ipv6Bytes(address) }];
}

const hostsOf = (addresses: readonly Address[], service: readonly string[]): readonly DnsRecord[] =>
  addresses.flatMap((address) =>
    hostRecords(address).map((record) => ({ ...record, labels: [address.replica, ...service] })),
  );

function srvOf(
  addresses: readonly Address[],
  service: readonly string[],
  port?: string,
): readonly DnsRecord[] {
  return addresses.flatMap(({ replica, address, ports = {} }) =>
    Object.entries(ports)
      .filter(([name]) => port === undefined || name === port)
      .map(([, number]): DnsRecord => {
        // Where a replica is known by its machine's name alone, that is the target.
        const target = isIP(address) === 0 ? address.split('.') : [replica, ...service];
        const fixed = Buffer.alloc(6);
        // Priority 0, all alike in weight.
        fixed.writeUInt16BE(1, 2);
        fixed.writeUInt16BE(number, 4);
        return { type: 'SRV', ttlSeconds, data: Buffer.concat([fixed, writeName(target)]) };
      }),
  );
}

/** The sixteen bytes of an IPv6 address that `isIP` has accepted. */
function ipv6Bytes(address: string): Buffer {
  const bytes = Buffer.alloc(16);
  const groupsOf = (part: string): number[] =>
    part === ''
      ? []
      : part.split(':').flatMap((group) => {
          if (!group.includes('.')) return [Number.parseInt(group, 16)];
          const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
          return [(a << 8) | b, (c << 8) | d];
        });
  const [plain = ''] = address.split('%');
  const [head = '', tail] = plain.split('::');
  const first = groupsOf(head);
  const last = tail === undefined ? [] : groupsOf(tail);
  for (const [index, group] of first.entries()) bytes.writeUInt16BE(group, index * 2);
  for (const [index, group] of last.entries()) bytes.writeUInt16BE(group, 16 - (last.length - index) * 2);
  return bytes;
}

/** For answers that say that there is nothing: how long that may be remembered. */
const soa: DnsRecord = (() => {
  const numbers = Buffer.alloc(20);
  for (const [index, value] of [1, 3_600, 600, 86_400, ttlSeconds].entries())
    numbers.writeUInt32BE(value, index * 4);
  const data = Buffer.concat([writeName(['ns', zone]), writeName(['hostmaster', zone]), numbers]);
  return { labels: [zone], type: 'SOA', ttlSeconds, data };
})();

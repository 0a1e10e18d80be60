import type { Random } from '../../env/random.js';
import {
  type DnsAnswer,
  type DnsQuery,
  type DnsRecord,
  type Rcode,
  recordTypes,
  writeName,
} from './dns-message.js';
import { type RecordList, type ServiceRecords, ttlSeconds, zone } from './service-records.js';

/** What the zone is made from. */
export interface DnsSource {
  /** What there is of a workload's endpoints; undefined: there are none of that name. */
  service(tenant: string, workload: string): ServiceRecords | undefined;
  hasTenant(tenant: string): boolean;
}

const internet = 1;

/**
 * The names of the zone (DESIGN: `WORKLOAD.TENANT.berth`): A and AAAA of a service and of each of its replicas, SRV of a
 * service and of each port of it. A name that exists without such a record is not one that does not exist. Clients take the
 * first answer mostly, and of a large service there is room for some: they begin with another one each time.
 */
export function answerQuestion(
  query: DnsQuery,
  source: DnsSource,
  random: Pick<Random, 'integer'>,
): DnsAnswer {
  const { question, opcode, edns } = query;
  if (opcode !== 0) return none('NotImp');
  if (question === undefined) return none('FormErr');
  if (edns !== undefined && edns.version !== 0) return none('BadVers');
  const { labels, type } = question;
  if (question.class !== internet || labels.at(-1) !== zone) return none('Refused');
  const isAny = type === recordTypes.ANY;
  if (labels.length === 1 && (isAny || type === recordTypes.SOA))
    return { ...none('NoError'), answers: [{ type: 'SOA', ttlSeconds, data: soa.data }] };
  const found = under(labels.slice(0, -1), source);
  if (found === undefined) return { ...none('NxDomain'), authority: [soa] };
  const asked = recordKinds.flatMap((kind) => {
    const list = isAny || recordTypes[kind] === type ? found[kind] : undefined;
    return list === undefined || list.addresses.length === 0 ? [] : [list];
  });
  if (asked.length === 0) return { ...none('NoError'), authority: [soa] };
  return { ...none('NoError'), answers: recordsOf(asked, random) };
}

const none = (rcode: Rcode): DnsAnswer => ({ rcode, answers: [], authority: [] });

const recordKinds = ['A', 'AAAA', 'SRV'] as const;
type Found = Readonly<Partial<Record<(typeof recordKinds)[number], RecordList>>>;

/** What there is under a name within the zone; undefined: no such name. A workload's name is one label, as a tenant's is. */
function under(labels: readonly string[], source: DnsSource): Found | undefined {
  const [tenant, workload, first, second, ...more] = labels.toReversed();
  if (tenant === undefined) return {};
  if (!source.hasTenant(tenant)) return undefined;
  if (workload === undefined) return {};
  const service = source.service(tenant, workload);
  if (service === undefined || more.length > 0) return undefined;
  if (first === undefined) return service.service;
  if (first !== '_tcp') return second === undefined ? service.replica(first) : undefined;
  if (second === undefined) return {};
  return second.startsWith('_') ? service.port(second.slice(1)) : undefined;
}

function* recordsOf(lists: readonly RecordList[], random: Pick<Random, 'integer'>): Generator<DnsRecord> {
  for (const { addresses, recordsOf: made } of lists) {
    const first = random.integer(addresses.length);
    for (let turn = 0; turn < addresses.length; turn++) {
      const address = addresses[(first + turn) % addresses.length];
      if (address !== undefined) yield* made(address);
    }
  }
}

/** For answers that say that there is nothing: how long that may be remembered. */
const soa: DnsRecord = (() => {
  const numbers = Buffer.alloc(20);
  for (const [index, value] of [1, 3_600, 600, 86_400, ttlSeconds].entries())
    numbers.writeUInt32BE(value, index * 4);
  const data = Buffer.concat([writeName(['ns', zone]), writeName(['hostmaster', zone]), numbers]);
  return { name: writeName([zone]), type: 'SOA', ttlSeconds, data };
})();

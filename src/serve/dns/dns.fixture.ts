import { objectOf } from '../../model/fake-objects.fixture.js';
import type { Endpoints, EndpointsStatus } from '../../model/kinds/endpoints.js';
import { writeName } from './dns-message.js';
import { ServiceRecords } from './service-records.js';

export type Addresses = NonNullable<EndpointsStatus['addresses']>;

export const endpointsOf = (workload: string, addresses: Addresses): Endpoints =>
  objectOf('Endpoints', 'shop', workload, { status: { addresses } }) as unknown as Endpoints;

export const serviceOf = (workload: string, addresses: Addresses): ServiceRecords =>
  new ServiceRecords(endpointsOf(workload, addresses));

/** A query that is as it should be. */
export function queryBytes(name: string, type: number, { id = 7, udpBytes = 0 } = {}): Buffer {
  const header = Buffer.alloc(12);
  header.writeUInt16BE(id, 0);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(udpBytes > 0 ? 1 : 0, 10);
  const question = Buffer.alloc(4);
  question.writeUInt16BE(type, 0);
  question.writeUInt16BE(1, 2);
  const opt = Buffer.alloc(11);
  opt.writeUInt16BE(41, 1);
  opt.writeUInt16BE(udpBytes, 3);
  return Buffer.concat([header, writeName(name.split('.')), question, ...(udpBytes > 0 ? [opt] : [])]);
}

/** The labels of a name as it is written. */
export function namesIn(bytes: Buffer = Buffer.alloc(1)): string[] {
  const labels: string[] = [];
  for (let at = 0, length = bytes[at] ?? 0; length > 0; at += length + 1, length = bytes[at] ?? 0)
    labels.push(bytes.toString('latin1', at + 1, at + 1 + length));
  return labels;
}

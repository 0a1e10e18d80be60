import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import type { Endpoints, EndpointsStatus } from '../../model/kinds/endpoints.js';
import { checkName } from '../../model/names.js';
import { addressBytes } from './address-bytes.js';
import { type DnsRecord, writeName } from './dns-message.js';

type Address = NonNullable<EndpointsStatus['addresses']>[number];

/** Records that are made one address at a time, when somebody takes them. Those of one that is listed here are never none. */
export interface RecordList {
  readonly addresses: readonly Address[];
  readonly recordsOf: (address: Address) => readonly DnsRecord[];
}

export const zone = 'berth';
/** Replicas come and go: nobody shall remember them for long, nor that there were none. */
export const ttlSeconds = 5;

/**
 * What the zone says of one service, from one version of its Endpoints: addresses are sorted out here, once, so that a
 * question costs what its answer holds and not what the service has.
 */
export class ServiceRecords {
  readonly #name: Buffer;
  readonly #all: readonly Address[];
  readonly #ofFamily: Readonly<Record<'A' | 'AAAA', Address[]>> = { A: [], AAAA: [] };
  readonly #withPorts: Address[] = [];
  readonly #withPort = new Map<string, Address[]>();
  // Most ask for the service: put together when somebody asks for a replica.
  #byLabel: ReadonlyMap<string, Address> | undefined;

  constructor({ metadata, status }: Endpoints) {
    this.#name = writeName([metadata.name, metadata.namespace ?? '', zone]);
    this.#all = status?.addresses ?? [];
    for (const one of this.#all) {
      const family = isIP(one.address);
      if (family !== 0) this.#ofFamily[family === 4 ? 'A' : 'AAAA'].push(one);
      else if (!hostName.test(one.address)) continue;
      const ports = Object.keys(one.ports ?? {});
      if (ports.length > 0) this.#withPorts.push(one);
      for (const port of ports) {
        const others = this.#withPort.get(port);
        if (others === undefined) this.#withPort.set(port, [one]);
        else others.push(one);
      }
    }
  }

  /** The service itself: where its replicas are, and all their ports. */
  get service(): Readonly<Record<'A' | 'AAAA' | 'SRV', RecordList>> {
    return {
      ...{ A: hosts(this.#ofFamily.A), AAAA: hosts(this.#ofFamily.AAAA) },
      SRV: {
        addresses: this.#withPorts,
        recordsOf: (one) => this.#srvOf(one, Object.values(one.ports ?? {})),
      },
    };
  }

  /** One port of it; undefined if no replica has it. */
  port(port: string): Readonly<Record<'SRV', RecordList>> | undefined {
    const addresses = this.#withPort.get(port);
    return (
      addresses && { SRV: { addresses, recordsOf: (one) => this.#srvOf(one, [one.ports?.[port] ?? 0]) } }
    );
  }

  /** One replica of it, by its label; undefined if there is none. */
  replica(label: string): Readonly<Partial<Record<'A' | 'AAAA', RecordList>>> | undefined {
    this.#byLabel ??= new Map(this.#all.map((one) => [labelOf(one.replica), one]));
    const found = this.#byLabel.get(label);
    if (found === undefined) return undefined;
    const family = isIP(found.address);
    return family === 0 ? {} : { [family === 4 ? 'A' : 'AAAA']: hosts([found]) };
  }

  /** Where a replica is known by its machine's name alone, that is what its ports lead to. */
  #srvOf({ replica, address }: Address, ports: readonly number[]): readonly DnsRecord[] {
    const host = addressBytes(address);
    const target = host === undefined ? writeName(address.split('.')) : this.#under(labelOf(replica));
    const leadsTo = host && { name: target, ttlSeconds, ...host };
    return ports.map((port) => {
      const data = Buffer.alloc(6 + target.length);
      // Priority 0, all alike in weight.
      data.writeUInt16BE(1, 2);
      data.writeUInt16BE(port, 4);
      target.copy(data, 6);
      return { type: 'SRV', ttlSeconds, data, ...(leadsTo !== undefined && { leadsTo }) };
    });
  }

  #under(label: string): Buffer {
    const name = Buffer.allocUnsafe(1 + label.length + this.#name.length);
    name[0] = label.length;
    name.write(label, 1, 'latin1');
    this.#name.copy(name, 1 + label.length);
    return name;
  }
}

/** A name that DNS can say, of whatever case. */
const hostName = /^[\w-]{1,63}(\.[\w-]{1,63})*$/;

/**
 * How a replica is called below its service. Its name may have dots in it or be too long for a label; then it is what a
 * hash makes of it, which is always the same.
 */
export const labelOf = (replica: string): string =>
  checkName('replica', replica, 'label').length === 0
    ? replica
    : createHash('sha256').update(replica).digest('hex').slice(0, 16);

const hosts = (addresses: readonly Address[]): RecordList => ({
  addresses,
  recordsOf: ({ address }) => {
    const host = addressBytes(address);
    return host === undefined ? [] : [{ ttlSeconds, ...host }];
  },
});

import { fromJSON } from '@grpc/proto-loader';
import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js';
import {
  readTxnAnswer,
  readWatchAnswer,
  type TxnAnswer,
  type ValueAt,
  type WatchAnswer,
} from './etcd-answers.js';
import type { EtcdMethod } from './etcd-endpoints.js';

/**
 * The part of etcd's version 3 wire protocol that the store uses: message fields by number, as etcd's API
 * defines them. Integers of 64 bits are read as numbers: revisions stay below 2^53.
 */
export interface EtcdKeyValue {
  readonly key: Buffer;
  readonly create_revision: number;
  readonly mod_revision: number;
  readonly value: Buffer;
}
interface Header {
  readonly revision: number;
}
export interface RangeRequest {
  readonly key: Buffer;
  readonly range_end?: Buffer;
  readonly limit?: number;
  readonly revision?: number;
}
export interface RangeResponse {
  readonly header: Header;
  readonly kvs: readonly EtcdKeyValue[];
  readonly more: boolean;
}
export interface EtcdCompare {
  readonly result: 'EQUAL';
  readonly target: 'CREATE' | 'MOD' | 'VALUE';
  readonly key: Buffer;
  readonly create_revision?: number;
  readonly mod_revision?: number;
  readonly value?: Uint8Array;
}
export interface RequestOp {
  readonly request_range?: RangeRequest;
  readonly request_put?: { readonly key: Buffer; readonly value: Uint8Array };
  readonly request_delete_range?: { readonly key: Buffer };
}
export interface TxnRequest {
  readonly compare: readonly EtcdCompare[];
  readonly success: readonly RequestOp[];
  readonly failure: readonly RequestOp[];
}
export interface TxnResponse {
  readonly header: Header;
  readonly succeeded: boolean;
  readonly responses: readonly { readonly response_range?: RangeResponse }[];
}
export interface CompactionRequest {
  readonly revision: number;
}
export interface CompactionResponse {
  readonly header: Header;
}
export interface WatchRequest {
  readonly create_request: {
    readonly key: Buffer;
    readonly range_end: Buffer;
    readonly start_revision: number;
  };
}
export interface WatchResponse {
  readonly created: boolean;
  readonly canceled: boolean;
  readonly compact_revision: number;
  readonly cancel_reason: string;
  readonly events: readonly { readonly type: 'PUT' | 'DELETE'; readonly kv: EtcdKeyValue }[];
}

type Field = readonly [name: string, type: string, id: number, rule?: 'repeated'];

const message = (...fields: Field[]): object => ({
  fields: Object.fromEntries(
    fields.map(([name, type, id, rule]) => [name, rule === undefined ? { type, id } : { type, id, rule }]),
  ),
});
const oneOf = (name: string, ...fields: Field[]): object => ({
  oneofs: { [name]: { oneof: fields.map(([field]) => field) } },
  ...message(...fields),
});

const compareUnion: Field[] = [
  ['create_revision', 'int64', 5],
  ['mod_revision', 'int64', 6],
  ['value', 'bytes', 7],
];

const descriptor = {
  nested: {
    etcdserverpb: {
      nested: {
        ResponseHeader: message(['revision', 'int64', 3]),
        KeyValue: message(
          ['key', 'bytes', 1],
          ['create_revision', 'int64', 2],
          ['mod_revision', 'int64', 3],
          ['value', 'bytes', 5],
        ),
        RangeRequest: message(
          ['key', 'bytes', 1],
          ['range_end', 'bytes', 2],
          ['limit', 'int64', 3],
          ['revision', 'int64', 4],
        ),
        RangeResponse: message(
          ['header', 'ResponseHeader', 1],
          ['kvs', 'KeyValue', 2, 'repeated'],
          ['more', 'bool', 3],
        ),
        PutRequest: message(['key', 'bytes', 1], ['value', 'bytes', 2]),
        DeleteRangeRequest: message(['key', 'bytes', 1]),
        CompareResult: { values: { EQUAL: 0 } },
        CompareTarget: { values: { VERSION: 0, CREATE: 1, MOD: 2, VALUE: 3 } },
        Compare: {
          oneofs: { target_union: { oneof: compareUnion.map(([field]) => field) } },
          ...message(
            ['result', 'CompareResult', 1],
            ['target', 'CompareTarget', 2],
            ['key', 'bytes', 3],
            ...compareUnion,
          ),
        },
        RequestOp: oneOf(
          'request',
          ['request_range', 'RangeRequest', 1],
          ['request_put', 'PutRequest', 2],
          ['request_delete_range', 'DeleteRangeRequest', 3],
        ),
        ResponseOp: oneOf('response', ['response_range', 'RangeResponse', 1]),
        TxnRequest: message(
          ['compare', 'Compare', 1, 'repeated'],
          ['success', 'RequestOp', 2, 'repeated'],
          ['failure', 'RequestOp', 3, 'repeated'],
        ),
        TxnResponse: message(
          ['header', 'ResponseHeader', 1],
          ['succeeded', 'bool', 2],
          ['responses', 'ResponseOp', 3, 'repeated'],
        ),
        CompactionRequest: message(['revision', 'int64', 1]),
        CompactionResponse: message(['header', 'ResponseHeader', 1]),
        WatchCreateRequest: message(
          ['key', 'bytes', 1],
          ['range_end', 'bytes', 2],
          ['start_revision', 'int64', 3],
        ),
        WatchRequest: message(['create_request', 'WatchCreateRequest', 1]),
        EventType: { values: { PUT: 0, DELETE: 1 } },
        Event: message(['type', 'EventType', 1], ['kv', 'KeyValue', 2]),
        WatchResponse: message(
          ['created', 'bool', 3],
          ['canceled', 'bool', 4],
          ['compact_revision', 'int64', 5],
          ['cancel_reason', 'string', 6],
          ['events', 'Event', 11, 'repeated'],
        ),
        KV: {
          methods: {
            Range: { requestType: 'RangeRequest', responseType: 'RangeResponse' },
            Txn: { requestType: 'TxnRequest', responseType: 'TxnResponse' },
            Compact: { requestType: 'CompactionRequest', responseType: 'CompactionResponse' },
          },
        },
        Watch: {
          methods: {
            Watch: {
              requestType: 'WatchRequest',
              requestStream: true,
              responseType: 'WatchResponse',
              responseStream: true,
            },
          },
        },
      },
    },
  },
};

// The package's type wants the parts of a descriptor told apart more finely than its own JSON form does.
const services = fromJSON(descriptor as unknown as Parameters<typeof fromJSON>[0], {
  keepCase: true,
  longs: Number,
  enums: String,
  defaults: true,
});

function method<Q, R>(service: string, name: string): MethodDefinition<Q, R> {
  const found = (services[service] as ServiceDefinition | undefined)?.[name];
  if (found === undefined) throw new Error(`no method ${service}.${name}`);
  return found as MethodDefinition<Q, R>;
}

export const rangeMethod = method<RangeRequest, RangeResponse>('etcdserverpb.KV', 'Range');
export const txnMethod = method<TxnRequest, TxnResponse>('etcdserverpb.KV', 'Txn');
/** The same for a request that is encoded already and wants to know only whether it succeeded. */
export const encodedTxnMethod: EtcdMethod<Buffer, TxnAnswer> = {
  path: txnMethod.path,
  requestSerialize: (request) => request,
  responseDeserialize: readTxnAnswer,
};
export const compactMethod = method<CompactionRequest, CompactionResponse>('etcdserverpb.KV', 'Compact');
export const watchMethod = method<WatchRequest, WatchResponse>('etcdserverpb.Watch', 'Watch');
/** The same, with what changed as the store tells it. */
export const changesMethod = (
  prefixLength: number,
  valueAt: ValueAt,
): EtcdMethod<WatchRequest, WatchAnswer> => ({
  path: watchMethod.path,
  requestSerialize: watchMethod.requestSerialize,
  responseDeserialize: (bytes) => readWatchAnswer(bytes, prefixLength, valueAt),
});

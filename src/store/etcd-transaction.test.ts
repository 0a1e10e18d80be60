import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { asRevision, type Guard, type Write } from './contract.js';
import { txnMethod } from './etcd-protocol.js';
import { encodeTransaction } from './etcd-transaction.js';

const key = fc.stringMatching(/^[\x21-\x7e]{1,300}$/);
const value = fc.uint8Array({ maxLength: 400 });
const guard: fc.Arbitrary<Guard> = fc.oneof(
  fc.record({ kind: fc.constant('absent' as const), key }),
  fc.record({
    kind: fc.constant('unchanged' as const),
    key,
    modRevision: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }).map(asRevision),
  }),
  fc.record({ kind: fc.constant('value' as const), key, value }),
);
const write: fc.Arbitrary<Write> = fc.oneof(
  fc.record({ kind: fc.constant('put' as const), key, value }),
  fc.record({ kind: fc.constant('delete' as const), key }),
);

const prefix = '/cell ';
const bytes = (of: string): Buffer => Buffer.from(prefix + of);

/** The general way: by the descriptor of the protocol. */
const serialized = (guards: readonly Guard[], writes: readonly Write[]): Buffer =>
  txnMethod.requestSerialize({
    compare: guards.map((one) => {
      const common = { result: 'EQUAL' as const, key: bytes(one.key) };
      if (one.kind === 'absent') return { ...common, target: 'CREATE' as const, create_revision: 0 };
      if (one.kind === 'unchanged')
        return { ...common, target: 'MOD' as const, mod_revision: one.modRevision };
      return { ...common, target: 'VALUE' as const, value: one.value };
    }),
    success: writes.map((one) =>
      one.kind === 'put'
        ? { request_put: { key: bytes(one.key), value: one.value } }
        : { request_delete_range: { key: bytes(one.key) } },
    ),
    failure: [],
  });

describe('a transaction as etcd reads it', () => {
  it('has the bytes that the protocol says', () => {
    fc.assert(
      fc.property(
        fc.array(guard, { maxLength: 20 }),
        fc.array(write, { maxLength: 20 }),
        (guards, writes) => {
          const general = txnMethod.requestDeserialize(serialized(guards, writes));
          const own = txnMethod.requestDeserialize(encodeTransaction({ guards, writes }, prefix));
          expect(own).toEqual(general);
        },
      ),
    );
  });
});

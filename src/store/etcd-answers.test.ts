import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { asRevision } from './contract.js';
import { readTxnAnswer, readWatchAnswer } from './etcd-answers.js';
import { txnMethod, watchMethod } from './etcd-protocol.js';

const prefix = '/cell ';
const key = fc.stringMatching(/^[\x21-\x7e]{1,300}$/);
const revision = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const event = fc.record({
  type: fc.constantFrom('PUT' as const, 'DELETE' as const),
  kv: fc.record({
    key: key.map((text) => Buffer.from(prefix + text)),
    create_revision: revision,
    mod_revision: fc.oneof(fc.integer({ min: 1, max: 4 }), revision),
    value: fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes)),
  }),
});
const watched = fc.record({
  created: fc.boolean(),
  canceled: fc.boolean(),
  compact_revision: fc.oneof(fc.constant(0), revision),
  cancel_reason: fc.string(),
  events: fc.array(event, { maxLength: 10 }),
});
const answered = fc.record({
  header: fc.record({ revision }),
  succeeded: fc.boolean(),
  responses: fc.array(
    fc.record({
      response_range: fc.record({
        header: fc.record({ revision }),
        kvs: fc.array(
          event.map(({ kv }) => kv),
          { maxLength: 2 },
        ),
        more: fc.boolean(),
      }),
    }),
    { maxLength: 5 },
  ),
});

const view = (_: string, message: Buffer, from: number, to: number): Uint8Array => message.subarray(from, to);

describe('what etcd answers', () => {
  it('to a transaction is what the protocol says', () => {
    fc.assert(
      fc.property(answered, (answer) => {
        expect(readTxnAnswer(txnMethod.responseSerialize(answer))).toEqual({
          revision: answer.header.revision,
          succeeded: answer.succeeded,
        });
      }),
    );
  });

  it('to a watch is what the protocol says, the changes of one revision together', () => {
    fc.assert(
      fc.property(watched, (answer) => {
        const bytes = watchMethod.responseSerialize(answer);
        const { sets, ...rest } = readWatchAnswer(bytes, prefix.length, view);
        expect(rest).toEqual({
          compactRevision: answer.compact_revision,
          isCanceled: answer.canceled,
          cancelReason: answer.cancel_reason,
        });
        expect(
          sets.flatMap(({ revision: at, changes }) => changes.map((change) => ({ at, change }))),
        ).toEqual(
          answer.events.map(({ type, kv }) => {
            const text = kv.key.toString('latin1', prefix.length);
            return {
              at: kv.mod_revision,
              change:
                type === 'DELETE'
                  ? { kind: 'delete', key: text }
                  : {
                      kind: 'put',
                      entry: {
                        ...{ key: text, value: kv.value },
                        ...{ createRevision: kv.create_revision, modRevision: kv.mod_revision },
                      },
                    },
            };
          }),
        );
        for (const [at, set] of sets.entries()) expect(set.revision).not.toBe(sets[at - 1]?.revision);
      }),
    );
  });

  it('is passed over where a later etcd says more, and is never read past its end', () => {
    const numberField = Buffer.from([0x78, 0x96, 0x01]);
    const known = txnMethod.responseSerialize({
      ...{ header: { revision: 300 }, succeeded: true, responses: [] },
    });
    const more = Buffer.concat([numberField, known, numberField]);
    expect(readTxnAnswer(more)).toEqual({ revision: asRevision(300), succeeded: true });
    expect(() => readTxnAnswer(more.subarray(0, -1))).toThrow('in the middle of a field');
    expect(() => readTxnAnswer(known.subarray(0, 2))).toThrow('in the middle of a field');
  });
});

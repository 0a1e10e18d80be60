import { describe, expect, it } from 'vitest';
import {
  type EpochPair,
  epochPairs,
  type OperationInput,
  operationNames,
  type OperationName,
  operationTable,
} from '../model/operations.js';
import type { Actor } from '../model/ports.js';
import { type NamedEpoch, staleCopies } from '../model/stale-copies.js';
import { everything } from './audit.fixture.js';
import { Checks, type EpochCheckName } from './checks.js';
import {
  currentEpoch,
  eachOperation,
  openThirdEpochs,
  send,
  type SenderOf,
} from './each-operation.fixture.js';
import { answer, done, type TestCell } from './test-cell.fixture.js';

const others: readonly NamedEpoch[] = [{ name: 'other', epoch: { ...currentEpoch, number: 5 } }];

/** An operation as one of its senders sends it, and the cell in which it commits. */
interface Case {
  readonly operation: OperationName;
  readonly sender: SenderOf<OperationName>;
}
const cases: readonly Case[] = operationNames.flatMap((operation) =>
  operationTable[operation].senders.map((sender) => ({ operation, sender })),
);

async function arrange(
  { operation, sender }: Case,
  checks?: Checks,
): Promise<{ cell: TestCell; input: OperationInput<OperationName> }> {
  const cell = await openThirdEpochs(checks);
  const make = eachOperation[operation] as (
    cell: TestCell,
    sender: SenderOf<OperationName>,
  ) => Promise<OperationInput<OperationName>>;
  return { cell, input: await make(cell, sender) };
}

const copiesOf = (operation: OperationName, input: OperationInput<OperationName>) =>
  staleCopies(operation, input, others);

describe('every operation of the authority', () => {
  it.each(cases)('[S8] $operation by $sender commits under its epochs, and under no other', async (one) => {
    const positive = await arrange(one);
    expect((await send(positive.cell, one.operation, positive.input)).kind).toBe('Committed');

    const { cell, input } = await arrange(one);
    const before = await everything(cell.store);
    for (const { instead, reason, input: stale } of copiesOf(one.operation, input)) {
      const outcome = await send(cell, one.operation, stale);
      expect(answer(outcome), instead).toMatch(new RegExp(`^${reason}: `));
    }
    expect(await everything(cell.store)).toEqual(before);
    expect((await send(cell, one.operation, input)).kind, 'it was refused for its epoch alone').toBe(
      'Committed',
    );
  });

  it.each(cases.filter(({ operation }) => 'actor' in operationTable[operation].epochs))(
    '[S6] $operation is refused to whoever is not among its senders, as $sender sends it',
    async (one) => {
      const { cell, input } = await arrange(one);
      const senders: readonly string[] = operationTable[one.operation].senders;
      const before = await everything(cell.store);
      for (const actor of Object.values(cell.actors).filter(({ kind }) => !senders.includes(kind))) {
        const outcome = await send(cell, one.operation, { ...input, actor });
        expect(answer(outcome)).toMatch(/^NotOwner: /);
      }
      expect(await everything(cell.store)).toEqual(before);
    },
  );

  it.each(
    cases.filter(({ operation }) => 'actor' in operationTable[operation].epochs && operation !== 'setFence'),
  )('[S8] $operation by $sender is refused once the lease of its actor was released', async (one) => {
    const { cell, input } = await arrange(one);
    const { actor } = input as { readonly actor: Actor };
    if (actor.lease === undefined) return;
    const { name, epoch } = actor.lease;
    done(await cell.authority.resign({ name, holder: 'third', epoch, reason: 'Stopped' }));
    const before = await everything(cell.store);
    expect(answer(await send(cell, one.operation, input))).toMatch(/^StaleEpoch: .* has released$/);
    expect(await everything(cell.store)).toEqual(before);
  });

  it.each(operationNames.filter((operation) => 'open' in operationTable[operation].epochs))(
    '[S8] %s under an epoch of its node that somebody has closed is refused, unless its row says none',
    async (operation) => {
      const [sender] = operationTable[operation].senders;
      const { cell, input } = await arrange({ operation, sender });
      const attested = { actor: cell.actors.operator, node: 'n1', nodeEpoch: currentEpoch };
      done(await cell.authority.attest({ ...attested, reason: 'Test', forSeconds: 1, operation: 'close' }));
      const before = await everything(cell.store);
      const reason = (operationTable[operation].epochs as { open: string }).open;
      const outcome = await send(cell, operation, input);
      if (reason === 'none') return expect(outcome.kind).toBe('Committed');
      expect(answer(outcome)).toMatch(new RegExp(`^${reason}: .* was closed`));
      expect(await everything(cell.store)).toEqual(before);
    },
  );
});

describe('the check of every epoch', () => {
  /** The first sender whose input names this epoch. */
  const caseOf = async (pair: EpochPair): Promise<Case> => {
    const operation = pair.slice(0, pair.indexOf('.')) as OperationName;
    for (const one of cases.filter((each) => each.operation === operation)) {
      const { input } = await arrange(one);
      if (pair.endsWith('.open') || copiesOf(operation, input).some((copy) => copy.pair === pair)) return one;
    }
    throw new Error(`nobody sends ${pair}`);
  };

  it.each(epochPairs)(
    '%s is what refuses a stale operation: without it the operation commits',
    async (pair) => {
      const one = await caseOf(pair);
      const name: EpochCheckName = `epoch.${pair}`;
      const open = () => arrange(one, new Checks(name));
      if (pair.endsWith('.open')) {
        const { cell, input } = await open();
        const attested = { actor: cell.actors.operator, node: 'n1', nodeEpoch: currentEpoch };
        done(await cell.authority.attest({ ...attested, reason: 'Test', forSeconds: 1, operation: 'close' }));
        expect((await send(cell, one.operation, input)).kind).toBe('Committed');
        return;
      }
      const { cell, input } = await open();
      const [stale] = copiesOf(one.operation, input).filter((copy) => copy.pair === pair);
      expect((await send(cell, one.operation, stale?.input ?? input)).kind, stale?.instead).toBe('Committed');
    },
  );
});

import type { Replica } from '../../model/kinds/replica.js';
import { replicaName, type SlotRecord, slotKey } from '../../model/records.js';
import { isTerminal } from '../../model/stages.js';
import { CellView, placeOf, slotOf } from './cell-view.js';
import type { CellState, Commit, SafetyChecker, Violation } from './checker.js';

/** The conditions that say that a lost replica may still run beside its replacement: on the one, or on the other. */
const duplicateConditions = ['MayRunTwice', 'Superseded'];

/**
 * [S12] A slot has one record that names its highest incarnation, at most one replica that is not terminal,
 * Unknown or Releasing, and besides the one it names at most one that is lost, which people can see.
 */
export class Slots implements SafetyChecker {
  readonly rule = 'S12';
  checked = 0;

  onCommit(commit: Commit, state: CellState): readonly Violation[] {
    const cell = new CellView(state);
    const touched = new Map<string, readonly [tenant: string, workload: string, slot: string]>();
    const messages: string[] = [];
    for (const { key, before, after } of commit.changes) {
      const slot = slotOf(key);
      if (slot !== undefined) {
        touched.set(key, [slot.tenant, slot.workload, slot.slot]);
        messages.push(...wrongNumber(key, before as SlotRecord | undefined, after as SlotRecord | undefined));
      }
      const place = placeOf(key);
      if (place?.kind !== 'Replica') continue;
      const gone = place.part === 'o' ? (before as Replica | undefined)?.spec : undefined;
      const spec = cell.object('Replica', place.tenant, place.name)?.spec ?? gone;
      if (spec === undefined) continue;
      const at = [place.tenant, spec.workload, spec.slot] as const;
      touched.set(slotKey(...at), at);
    }
    for (const at of touched.values()) messages.push(...this.#check(cell, ...at));
    return messages.map((message) => this.#violation(state, message));
  }

  whole(state: CellState): readonly Violation[] {
    const cell = new CellView(state);
    const slots = new Map<string, readonly [tenant: string, workload: string, slot: string]>();
    for (const [key] of state.under('/t/')) {
      const slot = slotOf(key);
      if (slot !== undefined) slots.set(key, [slot.tenant, slot.workload, slot.slot]);
    }
    for (const { metadata, spec } of cell.objects('Replica')) {
      const at = [metadata.namespace ?? '', spec.workload, spec.slot] as const;
      slots.set(slotKey(...at), at);
    }
    return [...slots.values()]
      .flatMap((at) => this.#check(cell, ...at))
      .map((message) => this.#violation(state, message));
  }

  #violation(state: CellState, message: string): Violation {
    return { rule: this.rule, revision: state.revision, message };
  }

  #check(cell: CellView, tenant: string, workload: string, slot: string): readonly string[] {
    this.checked += 1;
    const key = slotKey(tenant, workload, slot);
    const record = cell.slot(tenant, workload, slot);
    const incarnations = [...cell.incarnations(tenant, workload, slot)];
    const live = incarnations.filter(({ status }) => status !== undefined && !isTerminal(status.stage));
    const messages: string[] = [];
    const say = (message: string): void => {
      messages.push(`${key}: ${message}`);
    };

    for (const { metadata, spec } of incarnations)
      if (metadata.name !== replicaName(workload, slot, spec.incarnation))
        say(`incarnation ${spec.incarnation} is called ${metadata.name}`);
    const active = live.filter(({ status }) => status?.stage !== 'Unknown' && status?.stage !== 'Releasing');
    if (active.length > 1) say(`${active.map(shown).join(' and ')} are active at once`);

    if (record === undefined) {
      // Also one that has ended: numbers begin anew without the record, and would come to its name again.
      for (const replica of incarnations) say(`${shown(replica)} stands without a slot record`);
      return messages;
    }
    messages.push(...wrongRecord(key, record, incarnations));
    for (const replica of live)
      if (replica.metadata.uid !== record.replicaUid)
        messages.push(...wrongOther(cell, key, record, replica));
    if (record.lost !== undefined && !live.some(({ metadata }) => metadata.uid === record.lost?.replicaUid))
      say(`it says that ${record.lost.replica} is lost, which has ended or is not there`);
    for (const { metadata, status } of live)
      if (status?.charge?.subtotal === 'Lost' && metadata.uid !== record.lost?.replicaUid)
        say(`${metadata.name} is charged as lost, but the slot does not say so`);
    return messages;
  }
}

const shown = ({ metadata, status }: Replica): string => `${metadata.name} (${status?.stage})`;

function wrongNumber(
  key: string,
  before: SlotRecord | undefined,
  after: SlotRecord | undefined,
): readonly string[] {
  if (after === undefined || before?.replicaUid === after.replicaUid) return [];
  const expected = (before?.incarnation ?? 0) + 1;
  return after.incarnation === expected
    ? []
    : [`${key}: incarnation ${after.incarnation} was made; the next was ${expected}`];
}

function wrongRecord(key: string, record: SlotRecord, incarnations: readonly Replica[]): readonly string[] {
  const named = incarnations.find(({ metadata }) => metadata.uid === record.replicaUid);
  if (named === undefined || named.metadata.name !== record.replica)
    return [`${key}: it names ${record.replica} (${record.replicaUid}), which is not there`];
  const highest = Math.max(...incarnations.map(({ spec }) => spec.incarnation));
  return record.incarnation === highest && named.spec.incarnation === highest
    ? []
    : [
        `${key}: it names incarnation ${record.incarnation} (${named.metadata.name}); the highest is ${highest}`,
      ];
}

/** A replica that has not ended beside the one its slot names: lost, replaced, charged so, and visible as a risk. */
function wrongOther(cell: CellView, key: string, record: SlotRecord, replica: Replica): readonly string[] {
  const { metadata, spec, status } = replica;
  const messages: string[] = [];
  const tenant = metadata.namespace ?? '';
  const execution = cell.object('WorkloadRevision', tenant, spec.revision)?.spec.template.execution;
  if (execution === 'AtMostOne') messages.push(`${key}: ${shown(replica)} of an AtMostOne slot was replaced`);
  if (record.lost?.replicaUid !== metadata.uid)
    messages.push(`${key}: ${shown(replica)} has not ended and is neither named nor lost`);
  if (status?.charge !== undefined && status.charge.subtotal !== 'Lost')
    messages.push(`${key}: ${shown(replica)} was replaced and is not charged as lost`);
  if (status?.stage !== 'Unknown' && status?.stage !== 'Releasing')
    messages.push(`${key}: ${shown(replica)} was replaced and is active again`);
  const current = cell.object('Replica', tenant, record.replica);
  const isVisible = [...(status?.conditions ?? []), ...(current?.status?.conditions ?? [])].some(
    (condition) => condition.status === 'True' && duplicateConditions.includes(condition.type),
  );
  if (status?.stage === 'Unknown' && !isVisible)
    messages.push(`${key}: no condition says that ${shown(replica)} may run beside ${record.replica}`);
  return messages;
}

import type { DecisionQuery, NewDecision } from '../../model/decisions.js';
import type { Decision, DecisionSpec } from '../../model/kinds/decision.js';
import type { JsonWriter } from '../json-writer.js';
import { hasInColumn, type PackedRows, packedRows, unpackedRows } from './packed-rows.js';

/**
 * How a decision stands in the log, nothing of it twice:
 * - /s/AGE its head: what a list looks for in it, so that looking does not mean reading all of it;
 * - /d/AGE the rest of it;
 * - /w/TENANT/WORKLOAD/AGE nothing: it is there to be found.
 *
 * AGE is the stamp counted down, so that the newest comes first. There is no key per replica or node: a decision may
 * place thousands, and what is written for each would cost the scheduler's server more than a list saves.
 */
const newestPossible = Number.MAX_SAFE_INTEGER;
const ageDigits = 16;

const ageKeyOf = (stamp: number): string => String(newestPossible - stamp).padStart(ageDigits, '0');
export const stampOfKey = (key: string): number =>
  newestPossible - Number(key.slice(key.lastIndexOf('/') + 1));

export const restPrefix = '/d/';
export const headPrefix = '/s/';
export const workloadPrefix = (tenant: string, workload: string): string => `/w/${tenant}/${workload}/`;
export const keyAt = (prefix: string, stamp: number): string => prefix + ageKeyOf(stamp);

type Choice = NonNullable<DecisionSpec['choices']>[number];

export interface Head {
  /** Heads without it are of an earlier form: they count for what is kept until they are too old, and are not shown. */
  readonly form: 2;
  readonly tenant: string;
  readonly workload: string;
  /** What the rest takes in the log. */
  readonly restBytes: number;
  /** As they are where they cannot be packed. */
  readonly choices?: PackedRows | readonly Choice[];
}

interface Rest {
  readonly name: string;
  readonly spec: Omit<DecisionSpec, 'workload' | 'choices'>;
  /** The list of replicas that is missing in its inputs. */
  readonly replicas?: PackedRows;
}

/** Undefined for one of an earlier form. */
export function headIn(value: Uint8Array): Head | undefined {
  const head = parsed(value) as Partial<Head>;
  return head.form === 2 ? (head as Head) : undefined;
}

/** Whose a decision is and what it takes in the log, also of one of an earlier form. */
export function keptIn(value: Uint8Array): Pick<Head, 'tenant' | 'workload'> & { readonly bytes: number } {
  const { tenant, workload, restBytes, bytes } = parsed(value) as Head & { readonly bytes?: number };
  return { tenant, workload, bytes: bytes ?? restBytes + value.length };
}

/** Whether a list asks for it. */
export const isAskedFor = (
  { tenant, workload, choices = [] }: Pick<Head, 'tenant' | 'workload' | 'choices'>,
  query: DecisionQuery,
): boolean => {
  const hasChoice = (field: 'replica' | 'node', name: string): boolean =>
    isPacked(choices) ? hasInColumn(choices, field, name) : choices.some((choice) => choice[field] === name);
  return (
    (query.tenant === undefined || tenant === query.tenant) &&
    (query.workload === undefined || workload === query.workload) &&
    (query.replica === undefined || hasChoice('replica', query.replica)) &&
    (query.node === undefined || hasChoice('node', query.node))
  );
};

// What one decision may take of a transaction. Past it the inputs go first, then choices from the end.
const decisionBytesMax = 1_000_000;

export interface EncodedDecision {
  readonly head: Buffer;
  readonly rest: Buffer;
}

export const bytesOf = ({ head, rest }: EncodedDecision): number => head.length + rest.length;

/** The bytes that are kept of a decision: of less than was given if it is too large. */
export function encodeDecision(decision: NewDecision, writer: JsonWriter): EncodedDecision {
  const whole = encoded(decision, writer);
  const bytes = bytesOf(whole);
  if (bytes <= decisionBytesMax) return whole;
  const { inputs: _, ...spec } = decision.spec;
  const omitted = `inputs: the decision would have taken ${bytes} bytes`;
  let kept: NewDecision = { ...decision, spec: { ...spec, omitted } };
  let less = encoded(kept, writer);
  while (bytesOf(less) > decisionBytesMax && (kept.spec.choices?.length ?? 0) > 0) {
    const choices = kept.spec.choices?.slice(0, Math.floor((kept.spec.choices.length * 2) / 3)) ?? [];
    const left = `inputs and all but ${choices.length} choices: it would have taken ${bytes} bytes`;
    kept = { ...kept, spec: { ...kept.spec, choices, omitted: left } };
    less = encoded(kept, writer);
  }
  return less;
}

function encoded({ name, tenant, spec }: NewDecision, writer: JsonWriter): EncodedDecision {
  const { workload, choices, ...others } = spec;
  const replicas = replicasIn(spec.inputs);
  const packed = replicas && packedRows(replicas, choices);
  const written: Rest =
    packed === undefined
      ? { name, spec: others }
      : { name, spec: { ...others, inputs: withReplicas(spec.inputs, undefined) }, replicas: packed };
  const rest = writer.write(written);
  const head: Head = {
    ...{ form: 2, tenant, workload, restBytes: rest.length },
    ...(choices !== undefined && { choices: packedRows(choices) ?? choices }),
  };
  return { head: writer.write(head), rest };
}

export function decodeDecision({ tenant, workload, choices }: Head, rest: Uint8Array): NewDecision {
  const { name, spec, replicas } = parsed(rest) as Rest;
  // A parsed boundary: packed are rows of what they were.
  const rows = choices && isPacked(choices) ? (unpackedRows(choices) as unknown as Choice[]) : choices;
  return {
    name,
    tenant,
    spec: {
      workload,
      ...spec,
      ...(rows !== undefined && { choices: rows }),
      ...(replicas !== undefined && { inputs: withReplicas(spec.inputs, unpackedRows(replicas, rows)) }),
    },
  };
}

type Inputs = DecisionSpec['inputs'];

/** The inputs are those of a scheduler. Nothing is known of them here but that a list of replicas may be among them. */
function replicasIn(inputs: Inputs): readonly unknown[] | undefined {
  const replicas = inputs?.['replicas'];
  return Array.isArray(replicas) ? replicas : undefined;
}

const withReplicas = (inputs: Inputs, replicas: readonly unknown[] | undefined): NonNullable<Inputs> => ({
  ...inputs,
  replicas,
});

const isPacked = (choices: PackedRows | readonly Choice[]): choices is PackedRows => !Array.isArray(choices);

const parsed = (value: Uint8Array): unknown =>
  JSON.parse(Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString());

/** The object that a decision is seen as. */
export const decisionObject = ({ name, tenant, spec }: NewDecision): Decision => ({
  apiVersion: 'berth.dev/v1',
  kind: 'Decision',
  metadata: {
    name,
    namespace: tenant,
    // Names are never given twice, so they are as good as a uid.
    uid: `decision.${name}`,
    resourceVersion: spec.snapshot.revision,
    generation: 1,
    creationTimestamp: spec.at,
  },
  spec,
});

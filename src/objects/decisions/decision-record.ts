import type { DecisionQuery, NewDecision } from '../../model/decisions.js';
import type { Decision } from '../../model/kinds/decision.js';

/**
 * How a decision stands in the log:
 * - /d/AGE the whole of it;
 * - /s/AGE what a list looks for in it, so that looking does not mean reading all of it;
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

export const wholePrefix = '/d/';
export const summaryPrefix = '/s/';
export const workloadPrefix = (tenant: string, workload: string): string => `/w/${tenant}/${workload}/`;
export const keyAt = (prefix: string, stamp: number): string => prefix + ageKeyOf(stamp);

export interface Summary {
  readonly tenant: string;
  readonly workload: string;
  readonly replicas: readonly string[];
  readonly nodes: readonly string[];
  /** What all of it takes in the log. */
  readonly bytes: number;
}

export function summaryOf({ tenant, spec }: NewDecision, bytes: number): Summary {
  const choices = spec.choices ?? [];
  return {
    tenant,
    workload: spec.workload,
    replicas: choices.map(({ replica }) => replica),
    nodes: [...new Set(choices.flatMap(({ node }) => node ?? []))],
    bytes,
  };
}

/** Whether a list asks for it, as far as a summary tells. */
export const isAskedFor = (summary: Summary, query: DecisionQuery): boolean =>
  (query.tenant === undefined || summary.tenant === query.tenant) &&
  (query.workload === undefined || summary.workload === query.workload) &&
  (query.replica === undefined || summary.replicas.includes(query.replica)) &&
  (query.node === undefined || summary.nodes.includes(query.node));

// What one transaction takes, less room for its summary. Past it the inputs go first, then choices from the end.
const decisionBytesMax = 1_000_000;

/** The bytes that are kept of a decision, and the decision that these are: less than was given if it is too large. */
export function encodeDecision(decision: NewDecision): {
  readonly kept: NewDecision;
  readonly bytes: Buffer;
} {
  const whole = Buffer.from(JSON.stringify(decision));
  if (whole.length <= decisionBytesMax) return { kept: decision, bytes: whole };
  const { inputs: _, ...spec } = decision.spec;
  const omitted = `inputs: the decision would have taken ${whole.length} bytes`;
  let kept: NewDecision = { ...decision, spec: { ...spec, omitted } };
  let bytes = Buffer.from(JSON.stringify(kept));
  while (bytes.length > decisionBytesMax && (kept.spec.choices?.length ?? 0) > 0) {
    const choices = kept.spec.choices?.slice(0, Math.floor((kept.spec.choices.length * 2) / 3)) ?? [];
    const left = `inputs and all but ${choices.length} choices: it would have taken ${whole.length} bytes`;
    kept = { ...kept, spec: { ...kept.spec, choices, omitted: left } };
    bytes = Buffer.from(JSON.stringify(kept));
  }
  return { kept, bytes };
}

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

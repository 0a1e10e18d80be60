/** The stages of a replica and who may move it from one to another (DESIGN §4), as data. */

export const stages = [
  'Admitted',
  'Queued',
  'Scheduled',
  'Bound',
  'Starting',
  'Ready',
  'Serving',
  'Unknown',
  'Releasing',
  'Succeeded',
  'Failed',
  'Released',
] as const;

export type Stage = (typeof stages)[number];

/** Who moves replicas. `agent` is the agent of the node the replica is bound to, under its epoch and the fence. */
export type StageActor =
  | 'workload-controller'
  | 'scheduler'
  | 'agent'
  | 'endpoints-controller'
  | 'repair-controller'
  | 'rollout'
  | 'drain'
  | 'preemption'
  | 'user'
  | 'collector';

export interface StageRule {
  /** `none`: the replica does not exist yet. */
  readonly from: readonly (Stage | 'none')[];
  readonly to: readonly Stage[];
  readonly owners: readonly StageActor[];
  readonly evidence: string;
  /** What happens when the stage moved to lasts longer than it may. Nothing where there is no deadline. */
  readonly onDeadline?: string;
}

const running = ['Bound', 'Starting', 'Ready', 'Serving'] as const;

/** Every edge there is: each from × to of each rule. An edge may be in two rules, with other owners and evidence. */
export const stageRules: readonly StageRule[] = [
  {
    from: ['none'],
    to: ['Admitted', 'Queued'],
    owners: ['workload-controller'],
    evidence: 'workload generation, policy revision',
  },
  {
    from: ['Admitted'],
    to: ['Queued'],
    owners: ['workload-controller'],
    evidence: 'workload generation, policy revision; what held it back is over',
  },
  {
    from: ['Queued'],
    to: ['Scheduled'],
    owners: ['scheduler'],
    evidence: 'snapshot revision, node, hold (commit.reserve)',
    onDeadline: 'the hold expires: back to Queued',
  },
  {
    from: ['Scheduled'],
    to: ['Queued'],
    owners: ['scheduler', 'collector'],
    evidence: 'the hold that expired or was given up',
  },
  {
    from: ['Queued', 'Scheduled'],
    to: ['Bound'],
    owners: ['scheduler'],
    evidence: 'snapshot revision, epochs, operation id (commit.bind)',
    onDeadline: 'no report by startDeadline: Unknown, even on a fresh node',
  },
  {
    from: ['Bound'],
    to: ['Starting'],
    owners: ['agent'],
    evidence: "the driver's id",
    onDeadline: 'startDeadline passed: Failed, the reason says at which step',
  },
  {
    from: ['Starting'],
    to: ['Ready'],
    owners: ['agent'],
    evidence: 'probe results',
  },
  {
    from: ['Ready'],
    to: ['Serving'],
    owners: ['endpoints-controller'],
    evidence: 'readiness held for minReadySeconds',
  },
  {
    from: ['Serving'],
    to: ['Ready'],
    owners: ['endpoints-controller'],
    evidence: 'readiness lost',
  },
  {
    from: ['Ready', 'Serving'],
    to: ['Starting'],
    owners: ['agent'],
    evidence: 'restart on the node, executions counted',
    onDeadline: 'startDeadline passed: Failed; also when the restart budget is spent',
  },
  {
    from: [...running],
    to: ['Succeeded', 'Failed'],
    owners: ['agent'],
    evidence: 'exit code',
  },
  {
    from: [...running, 'Releasing'],
    to: ['Unknown'],
    owners: ['repair-controller'],
    evidence: "the detector's verdict: lease age, arrivals, who else was silent",
    onDeadline: "ends as the workload's onNodeLost says; else condition NeedsHuman",
  },
  {
    from: ['Unknown'],
    to: [...running, 'Releasing', 'Succeeded', 'Failed'],
    owners: ['agent'],
    evidence:
      'a report under a valid epoch, while the slot record names this replica; else only Releasing (Superseded)',
  },
  {
    from: [...running, 'Unknown'],
    to: ['Releasing'],
    owners: ['rollout', 'drain', 'preemption', 'repair-controller', 'user', 'workload-controller'],
    evidence: 'its reason and operation; the intent is a field of its own and survives Unknown',
    onDeadline: 'not stopped in time: Unknown',
  },
  {
    from: ['Releasing', 'Unknown'],
    to: ['Released'],
    owners: ['agent'],
    evidence: "the agent's report that it stopped, under a valid epoch",
  },
  {
    from: ['Releasing', 'Unknown'],
    to: ['Released'],
    owners: ['repair-controller'],
    evidence: 'a fence that has expired for certain, or an attestation',
  },
  {
    from: ['Admitted', 'Queued', 'Scheduled'],
    to: ['Released'],
    owners: ['workload-controller'],
    evidence: 'nothing ran',
  },
];

const terminalStages: ReadonlySet<Stage> = new Set(['Succeeded', 'Failed', 'Released']);

/** Nothing leaves a terminal stage, and entering one frees the charge. */
export function isTerminal(stage: Stage): boolean {
  return terminalStages.has(stage);
}

/** The rules that allow this edge; none if the graph has no such edge. */
export function rulesOfEdge(from: Stage | 'none', to: Stage): readonly StageRule[] {
  return stageRules.filter((rule) => allows(rule, from, to));
}

const allows = (rule: StageRule, from: Stage | 'none', to: Stage): boolean =>
  rule.from.includes(from) && rule.to.includes(to);

export function isEdge(from: Stage | 'none', to: Stage): boolean {
  return stageRules.some((rule) => allows(rule, from, to));
}

export function ownsEdge(actor: StageActor, from: Stage | 'none', to: Stage): boolean {
  return stageRules.some((rule) => allows(rule, from, to) && rule.owners.includes(actor));
}

/** The conditions that repair tells people with, on replicas, nodes and regions. */
export const remarkTypes = {
  NeedsHuman: 'nothing that the control plane can find out by itself will end this',
  Replaceable: 'it is lost, and its workload allows a second one by now',
  Braked: 'so much is silent there at once that repair is held back',
  FenceOverrun: 'a fenced job ran longer than was permitted: it may have run beside its successor',
} as const;

export type RemarkType = keyof typeof remarkTypes;

/** Said while the fate of a replica is not known, and over as soon as it is. */
export const remarksOnUnknown: readonly RemarkType[] = ['NeedsHuman', 'Replaceable'];

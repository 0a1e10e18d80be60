// Custom rules are plain functions in a plain module: berth up --plugin examples/plugins/quiet-hours.js
// They are asked of every node for every class of replicas, so they must be quick, and they must depend on what they
// are given alone: a decision is run again later and must come out the same.

/** Nodes with the label `noise: loud` are not for work that has the label `quiet: "true"`. */
export const filters = [
  {
    name: 'quiet',
    filter: (work, node) =>
      work.template.labels?.quiet === 'true' && node.labels.noise === 'loud'
        ? 'is loud, and the work wants quiet'
        : true,
  },
];

/** The fewer replicas are on a node, the better, but for little beside what the policy says. */
export const scores = [
  { name: 'few-neighbours', weight: 1, score: (_work, node) => 1 / (1 + node.replicas) },
];

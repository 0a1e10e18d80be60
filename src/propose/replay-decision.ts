import { BerthError } from '../model/errors.js';
import type { DecisionSpec } from '../model/kinds/decision.js';
import { CellState } from './cell-state.js';
import type { Wait } from './contract.js';
import type { Plugin } from './plugin.js';
import { propose } from './propose.js';
import { readInputs } from './read-inputs.js';

export interface ReplayedChoice {
  readonly replica: string;
  /** Where it was to go; undefined if it found no place. */
  readonly node: string | undefined;
}

export interface Replay {
  readonly choices: readonly ReplayedChoice[];
  readonly waits: readonly Wait[];
  /**
   * Places that others were to leave first. Who that was is not among the inputs: it is not found out again, only that
   * no node took these as it was.
   */
  readonly roomMade: readonly ReplayedChoice[];
  /** Where the decision says otherwise. */
  readonly differences: readonly (ReplayedChoice & { readonly decided: string | undefined })[];
}

/**
 * Runs a decision again from its own inputs. The rest of the cell is not needed: a score is of one node alone, so the
 * best of those that were chosen or came next is the best of all.
 */
export function replayDecision(
  decision: Pick<DecisionSpec, 'inputs' | 'choices' | 'gang'>,
  plugins: readonly Plugin[] = [],
): Replay {
  const inputs = readInputs(decision.inputs);
  const missing = (inputs.plugins ?? []).filter(
    (one) => !plugins.some(({ digest }) => digest === one.digest),
  );
  if (missing.length > 0)
    throw new BerthError(
      'Invalid',
      `the decision was made with custom rules of ${missing.map(shownPlugin).join(', ')}: give them too, as they were`,
    );
  const cell = new CellState();
  cell.version = inputs.version;
  for (const [key, value] of inputs.records) applied(cell, key, value ?? undefined);
  const { placements, waits } = propose(
    cell,
    { classKey: inputs.classKey, replicas: inputs.replicas },
    {
      policy: inputs.policy,
      seed: inputs.seed,
      ages: (node) => inputs.agesMs[node],
      plugins,
      around: inputs.around,
    },
  );
  const all = decision.choices ?? [];
  const roomMade = all.flatMap(({ replica, node, leaving }) => (leaving ? [{ replica, node }] : []));
  const areTogether = placements.length + roomMade.length >= (decision.gang?.wanted ?? 0);
  const nodes = new Map(areTogether ? placements.map(({ replica, node }) => [replica.name, node]) : []);
  const choices = inputs.replicas.map(({ name }) => ({ replica: name, node: nodes.get(name) }));
  const decided = new Map(all.map(({ replica, node, leaving }) => [replica, leaving ? undefined : node]));
  return {
    choices,
    waits,
    roomMade,
    differences: choices
      .filter(({ replica, node }) => decided.get(replica) !== node)
      .map((choice) => ({ ...choice, decided: decided.get(choice.replica) })),
  };
}

const shownPlugin = ({ source, digest }: Pick<Plugin, 'source' | 'digest'>): string =>
  `${source} (sha256 ${digest.slice(0, 12)})`;

/** A record as the store would have had it; one that somebody wrote by hand may be no such thing. */
function applied(cell: CellState, key: string, value: unknown): void {
  try {
    cell.apply(key, value);
  } catch (error) {
    const says = error instanceof Error ? error.message : String(error);
    throw new BerthError('Invalid', `spec.inputs.records: what ${key} has is no such record: ${says}`, {
      cause: error,
    });
  }
}

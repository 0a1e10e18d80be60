import type { Replica } from '../../model/kinds/replica.js';
import type { Reservation } from '../../model/kinds/reservation.js';
import { isTerminal } from '../../model/stages.js';
import type { World } from './world.js';

/** Replicas and holds as they are stored, for the assertions of scenarios. */
const assembled = <T>(world: World, kind: string): T[] =>
  [...world.history.under(`/o/${kind}/`)].map(([key, stored]) => ({
    ...(stored as object),
    ...(world.history.get(`/s${key.slice(2)}`) as object | undefined),
  })) as T[];

export const replicasOf = (world: World, workload: string): readonly Replica[] =>
  assembled<Replica>(world, 'Replica').filter(({ spec }) => spec.workload === workload);

export const liveReplicasOf = (world: World, workload: string): readonly Replica[] =>
  replicasOf(world, workload).filter(({ status }) => status !== undefined && !isTerminal(status.stage));

export const holdsIn = (world: World): readonly Reservation[] => assembled<Reservation>(world, 'Reservation');

/** A message for each thing that is not as a scenario says. */
export function unlessSo(
  ...facts: readonly (readonly [isSo: boolean, otherwise: string])[]
): readonly string[] {
  return facts.filter(([isSo]) => !isSo).map(([, otherwise]) => otherwise);
}

export const shownReplicas = (replicas: readonly Replica[]): string =>
  replicas
    .map(
      ({ metadata, status }) => `${metadata.name} ${status?.stage} on ${status?.binding?.node ?? 'no node'}`,
    )
    .join(', ') || 'none';

/** Whether it does what it is there for, be it in traffic or not. */
export const isUp = ({ status }: Replica): boolean =>
  status?.stage === 'Ready' || status?.stage === 'Serving';

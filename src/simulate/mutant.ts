import { type CheckName, checkNames, untriedChecks } from '../commit/checks.js';
import { type ControllerDefectName, controllerDefectNames } from './controller-defects.js';
import { type FenceTermName, fenceTermNames } from './fence-terms.js';
import { type WakeDefectName, wakeDefectNames } from './wake-defects.js';

/** A defect put in on purpose: a check of the authority that is switched off, a term of the fence that is left out, a controller that counts wrongly, or a scheduler that forgets to wake what waits. */
export type Mutant =
  | { readonly kind: 'check'; readonly name: CheckName }
  | { readonly kind: 'fenceTerm'; readonly name: FenceTermName }
  | { readonly kind: 'controller'; readonly name: ControllerDefectName }
  | { readonly kind: 'wake'; readonly name: WakeDefectName };

/** All defects, but for checks behind which another refuses the same. */
export const mutants: readonly Mutant[] = [
  ...checkNames
    .filter((name) => untriedChecks[name] === undefined)
    .map((name): Mutant => ({ kind: 'check', name })),
  ...fenceTermNames.map((name): Mutant => ({ kind: 'fenceTerm', name })),
  ...controllerDefectNames.map((name): Mutant => ({ kind: 'controller', name })),
  ...wakeDefectNames.map((name): Mutant => ({ kind: 'wake', name })),
];

/** The defects of these names, or of these groups: `fence` is every one whose name begins with `fence.`. */
export const mutantsNamed = (words: readonly string[]): readonly Mutant[] =>
  mutants.filter(({ name }) => words.some((word) => name === word || name.startsWith(`${word}.`)));

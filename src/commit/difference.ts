/** Something that is not as a rule of the design says (DESIGN §10). */
export interface Difference {
  readonly rule: 'S1' | 'S5' | 'S7' | 'S8' | 'S9' | 'S12';
  /** The keys it is about. */
  readonly keys: readonly string[];
  readonly found: string;
  readonly expected: string;
}

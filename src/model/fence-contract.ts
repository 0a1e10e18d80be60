/**
 * The promise between supervisors and the control plane that makes an expired fence a proof (DESIGN §8). A
 * renewal sent at s and acknowledged permits running until s + permit; the control plane releases by expiry
 * only after the lease has stood unchanged for the window. These are the values a cell starts with.
 */
export const fenceContract = {
  /** D: how long an acknowledged renewal permits a job to run. */
  permitSeconds: 120,
  /** G: so long before the permit ends the agent starts to stop the job, and nothing of the kind starts. */
  graceSeconds: 10,
  /** κ: so long before the permit ends the supervisor kills it. */
  killMarginSeconds: 2,
  /** W: how long the control plane waits before it takes the job for stopped. */
  windowSeconds: 130,
  /** ρ: how far two clocks may differ in speed. */
  driftMax: 0.001,
  /** σ: how long a machine may stall in the middle of a kill. */
  stallSecondsMax: 5,
} as const;

/** What the shell is told. Scripts rely on these numbers. */
export const exitCodes = {
  done: 0,
  error: 1,
  /** What was asked for cannot be placed. */
  cannotBePlaced: 2,
  /** Time was up; what was waited for, or the write, may still happen. */
  timedOut: 3,
  /** What was asked for is not so: what was waited for can no longer come, an audit found differences. */
  conditionFailed: 4,
  /** Nothing was found wrong, and too little was tried to say that all is well. */
  notShown: 5,
  usage: 64,
  unreachable: 69,
  notAllowed: 77,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** What the shell is told. Scripts rely on these numbers. */
export const exitCodes = {
  done: 0,
  error: 1,
  usage: 64,
} as const;

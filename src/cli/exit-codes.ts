/** What the shell is told. Scripts rely on these numbers. */
export const exitCodes = {
  done: 0,
  usage: 64,
} as const;

/** A time or a duration in a message. Clocks of the world drift, so that their times are no whole milliseconds. */
export const shownMs = (ms: number): string => `${Math.round(ms)} ms`;

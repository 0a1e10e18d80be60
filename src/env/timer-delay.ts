// Node stores a timer's delay in a signed 32-bit number and fires at once when it does not fit. The virtual
// world has the same bound, so that what works there works here.
const timerDelayMsMax = 0x7fff_ffff;

export function checkTimerDelay(ms: number): void {
  if (!(ms >= 0 && ms <= timerDelayMsMax)) {
    throw new RangeError(`after(ms): got ${ms}, allowed is 0 to ${timerDelayMsMax}`);
  }
}

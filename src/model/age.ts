const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const yearMs = 365 * dayMs;

/** How long ago something was, in at most two units: as exact as people need it at that distance. */
export function shownAge(ms: number): string {
  const whole = (unitMs: number): number => Math.floor(ms / unitMs);
  const rest = (unitMs: number, smallerMs: number): number => Math.floor((ms % unitMs) / smallerMs);
  const two = (unitMs: number, unit: string, smallerMs: number, smaller: string): string => {
    const left = rest(unitMs, smallerMs);
    return left === 0 ? `${whole(unitMs)}${unit}` : `${whole(unitMs)}${unit}${left}${smaller}`;
  };
  if (ms < 0) return '0s';
  if (ms < 2 * minuteMs) return `${whole(secondMs)}s`;
  if (ms < 10 * minuteMs) return two(minuteMs, 'm', secondMs, 's');
  if (ms < 3 * hourMs) return `${whole(minuteMs)}m`;
  if (ms < 8 * hourMs) return two(hourMs, 'h', minuteMs, 'm');
  if (ms < 2 * dayMs) return `${whole(hourMs)}h`;
  if (ms < 8 * dayMs) return two(dayMs, 'd', hourMs, 'h');
  if (ms < 2 * yearMs) return `${whole(dayMs)}d`;
  return two(yearMs, 'y', dayMs, 'd');
}

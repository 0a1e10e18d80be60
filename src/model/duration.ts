import { BerthError } from './errors.js';

const units = [
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const;

const shape = /^(?:(\d{1,15})h)?(?:(\d{1,15})m)?(?:(\d{1,15})s)?(?:(\d{1,15})ms)?$/;

export const durationAllowed =
  'whole numbers with the units h, m, s and ms, largest first: 45s, 1h30m, 250ms';

/** Reads what people write as a length of time, in milliseconds. Throws InvalidDuration. */
export function parseDurationMs(text: string): number {
  const match = text === '' ? null : shape.exec(text);
  const totalMs = units.reduce((sum, [, unitMs], index) => sum + Number(match?.[index + 1] ?? 0) * unitMs, 0);
  if (match === null || !Number.isSafeInteger(totalMs)) {
    throw new BerthError('InvalidDuration', `"${text}" is not a duration: write ${durationAllowed}`, {
      details: { value: text },
    });
  }
  return totalMs;
}

/** The shortest text that reads back as the same number of milliseconds, which must be whole and not negative. */
export function formatDuration(durationMs: number): string {
  if (!Number.isSafeInteger(durationMs) || durationMs < 0) {
    throw new BerthError('InvalidDuration', `${durationMs} is not a whole number of milliseconds from 0`);
  }
  let restMs = durationMs;
  let text = '';
  for (const [unit, unitMs] of units) {
    const count = Math.floor(restMs / unitMs);
    restMs -= count * unitMs;
    if (count > 0) text += `${count}${unit}`;
  }
  return text === '' ? '0s' : text;
}

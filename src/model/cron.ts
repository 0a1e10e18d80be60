interface CronField {
  readonly name: string;
  readonly minimum: number;
  readonly maximum: number;
  readonly words: readonly string[];
}

const cronFields: readonly CronField[] = [
  { name: 'minute', minimum: 0, maximum: 59, words: [] },
  { name: 'hour', minimum: 0, maximum: 23, words: [] },
  { name: 'day of month', minimum: 1, maximum: 31, words: [] },
  {
    name: 'month',
    minimum: 1,
    maximum: 12,
    words: ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
  },
  {
    name: 'day of week',
    minimum: 0,
    // 7 is Sunday too.
    maximum: 7,
    words: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'],
  },
];

const textLengthMax = 256;
const daysOfMonth = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const partShape = /^(\*|[a-z0-9]+)(?:-([a-z0-9]+))?(?:\/(\d{1,3}))?$/;

/** The values a field stands for, or what is wrong with it. */
function valuesOf(text: string, { name, minimum, maximum, words }: CronField): Set<number> | string {
  const numberOf = (word: string): number => {
    const known = words.indexOf(word);
    return known >= 0 ? known + minimum : /^\d{1,3}$/.test(word) ? Number(word) : Number.NaN;
  };
  const values = new Set<number>();
  for (const part of text.toLowerCase().split(',')) {
    const [, start = '', end, step = '1'] = partShape.exec(part) ?? [];
    if (start === '' || (start === '*' && end !== undefined)) return `${name} "${text}" cannot be read`;
    const from = start === '*' ? minimum : numberOf(start);
    // As cron has it, "5/15" starts at 5 and goes on to the end.
    const to = end === undefined ? (start === '*' || part.includes('/') ? maximum : from) : numberOf(end);
    if (!(from >= minimum && to <= maximum))
      return `${name} "${text}" is not within ${minimum} to ${maximum}`;
    if (from > to) return `${name} "${text}" starts after its end`;
    if (Number(step) === 0) return `${name} "${text}" has a step of 0`;
    for (let value = from; value <= to; value += Number(step)) values.add(value);
  }
  return values;
}

/** What is wrong with a cron expression of five fields, if anything; also one that no date ever satisfies. */
export function cronError(text: string): string | undefined {
  if (text.length > textLengthMax) return `it has more than ${textLengthMax} characters`;
  const parts = text.trim().split(/\s+/);
  if (text.trim() === '' || parts.length !== cronFields.length) {
    return 'it must have five fields: minute, hour, day of month, month, day of week';
  }
  const fields = cronFields.map((field, index) => valuesOf(parts[index] ?? '', field));
  const firstError = fields.find((values) => typeof values === 'string');
  if (firstError !== undefined) return firstError;
  const [, , days, months] = fields;
  if (parts[4] === '*' && days instanceof Set && months instanceof Set) {
    const firstDay = Math.min(...days);
    if (![...months].some((month) => firstDay <= (daysOfMonth[month - 1] ?? 0))) {
      return 'no month it names has such a day, so it would never run';
    }
  }
  return undefined;
}

import { cronError } from './cron.js';
import { checkName } from './names.js';

interface Format {
  readonly allowed: string;
  readonly isValid: (text: string) => boolean;
}

const environmentName = /^[A-Za-z_][A-Za-z0-9_]*$/;
const portWish = /^[a-z0-9]([-a-z0-9]{0,13}[a-z0-9])?(:([1-9]\d{0,4}))?$/;
const mapKey = /^[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?$/;
const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;

/** The forms of text that schemas name. */
export const formats = {
  name: {
    allowed: "a name of lower-case letters, digits, '-' and '.'",
    isValid: (text) => checkName('', text, 'subdomain').length === 0,
  },
  cron: {
    allowed: 'a cron expression of five fields: minute, hour, day of month, month, day of week ("0 2 * * *")',
    isValid: (text) => cronError(text) === undefined,
  },
  port: {
    allowed:
      'a name of up to 15 lower-case letters, digits and \'-\', or with a fixed port: "http" or "http:8080"',
    isValid: (text) => {
      const match = portWish.exec(text);
      return match !== null && Number(match[3] ?? 1) <= 65_535;
    },
  },
  'env-name': {
    allowed: "letters, digits and '_', not starting with a digit, nor with BERTH_, which Berth sets itself",
    isValid: (text) => environmentName.test(text) && !text.startsWith('BERTH_'),
  },
  key: {
    allowed: "letters, digits, '-', '_', '.' and '/', with a letter or digit at both ends",
    isValid: (text) => mapKey.test(text),
  },
  'date-time': {
    allowed: 'a time like 2026-01-31T13:05:00Z',
    isValid: (text) => instant.test(text) && !Number.isNaN(Date.parse(text)),
  },
} as const satisfies Record<string, Format>;

export type TextFormat = Exclude<keyof typeof formats, 'key'>;

export function isFormat(name: string): name is keyof typeof formats {
  return Object.hasOwn(formats, name);
}

// No part of Berth logs a secret on purpose. This is for the error of another program or library that quotes one.
const secrets: readonly (readonly [RegExp, string])[] = [
  [/(berth_[0-9a-f]{16})_[A-Za-z0-9_-]{43}/g, '$1_REDACTED'],
  [/\b(authorization:\s*[a-z]+)\s+[^\s"]+/gi, '$1 REDACTED'],
  [/\b(bearer)\s+[A-Za-z0-9._~+/=-]{20,}/gi, '$1 REDACTED'],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|$)/gs, 'REDACTED'],
  [/(\bhttps?:\/\/)[^\s/@"]+@/g, '$1REDACTED@'],
];

/** A text in which every secret of a known form is replaced. */
export const withoutSecrets = (text: string): string =>
  secrets.reduce((cleaned, [pattern, replacement]) => cleaned.replaceAll(pattern, replacement), text);

import { describe, expect, it, vi } from 'vitest';
import { formatTable } from './print-table.js';

describe('tables', () => {
  const rows = [
    ['a', 'x'],
    ['longer', ''],
  ];
  it('are as wide as their longest cells, without blanks at the end of a line', () => {
    expect(formatTable(['NAME', 'AGE'], rows, {})).toBe('NAME     AGE\na        x\nlonger');
  });

  it('have bold headings on a terminal, and only there', () => {
    vi.stubEnv('NO_COLOR', '');
    expect(formatTable(['NAME', 'AGE'], rows, { isTTY: true })).toContain('\u001B[1mNAME');
    vi.stubEnv('NO_COLOR', '1');
    expect(formatTable(['NAME', 'AGE'], rows, { isTTY: true })).not.toContain('\u001B');
    vi.unstubAllEnvs();
    expect(formatTable(['NAME', 'AGE'], rows, { isTTY: false })).not.toContain('\u001B');
  });
});

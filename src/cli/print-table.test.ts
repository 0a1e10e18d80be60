import { describe, expect, it } from 'vitest';
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
    expect(formatTable(['NAME', 'AGE'], rows, { isTTY: true })).toContain('\u001B[1mNAME');
    expect(formatTable(['NAME', 'AGE'], rows, { isTTY: false })).not.toContain('\u001B');
  });
});

import { describe, expect, it } from 'vitest';
import { logDirectory, logFileName, logFilesOf, parseLogFileName, surplusFiles } from './log-files.js';

const file = (name: string) => parseLogFileName(`${name}.jsonl`) ?? expect.fail(name);

describe('log files', () => {
  it('are named after execution and part, and come in the order they were written', () => {
    const names = ['10-1.jsonl', '2-10.jsonl', '2-9.jsonl', 'notes.txt', '0-1.jsonl', '2-9.jsonl.gz'];
    expect(logFilesOf(names).map(logFileName)).toEqual(['2-9.jsonl', '2-10.jsonl', '10-1.jsonl']);
  });

  it('have a directory for each replica that no name can lead out of', () => {
    const uid = '7d9e';
    expect(logDirectory('/logs', { tenant: 'fraud', replica: 'api-0-1', uid })).toBe(
      '/logs/fraud/api-0-1_7d9e',
    );
    for (const word of ['..', '', 'a/b', '.hidden', 'a\0'])
      expect(() => logDirectory('/logs', { tenant: word, replica: 'api-0-1', uid })).toThrow('path');
  });

  it.each([
    ['too many of its own', ['3-1', '3-2', '3-3'], ['3-1']],
    ['as many as it may have', ['3-2', '3-3'], []],
    ['too many of those before it, together', ['1-1', '2-1', '2-2', '3-1'], ['1-1']],
    ['its own never push out earlier ones', ['2-8', '2-9', '3-1', '3-2', '3-3'], ['3-1']],
  ])('of execution 3 go: %s', (_, names, gone) => {
    expect(surplusFiles(names.map(file), 3, 2).map(logFileName)).toEqual(gone.map((name) => `${name}.jsonl`));
  });
});

import { defineConfig } from 'vitest/config';

/** Ends the run with one plain line that any reader, human or not, can count on. */
const closingLine = {
  onTestRunEnd(modules) {
    const count = { passed: 0, failed: 0, skipped: 0 };
    for (const module of modules) {
      if (module.errors().length > 0) count.failed += 1;
      for (const test of module.children.allTests()) count[test.result().state] += 1;
    }
    process.stdout.write(`\n${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped\n`);
  },
};

export default defineConfig({
  test: {
    include: ['dist/**/*.test.js'],
    pool: 'forks',
    testTimeout: 30_000,
    hookTimeout: 60_000,
    reporters: ['default', closingLine],
  },
});

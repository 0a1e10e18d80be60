import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** Ends the run with one plain line that any reader, human or not, can count on. */
const closingLine = {
  onTestRunEnd(modules) {
    const count = { passed: 0, failed: 0, skipped: 0 };
    const unsteady = [];
    for (const module of modules) {
      if (module.errors().length > 0) count.failed += 1;
      for (const test of module.children.allTests()) {
        count[test.result().state] += 1;
        if (test.diagnostic()?.flaky) unsteady.push(`${module.relativeModuleId}: ${test.fullName}`);
      }
    }
    for (const name of unsteady) process.stdout.write(`passed only when tried again: ${name}\n`);
    process.stdout.write(`\n${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped\n`);
  },
};

export default defineConfig({
  test: {
    include: ['dist/**/*.test.js'],
    pool: 'forks',
    // Vitest would leave a core free, which on two cores means one file after another; many of them mostly wait.
    maxWorkers: Math.max(2, availableParallelism()),
    // Long: they bound what hangs. How fast something is is for benches to say, not for tests on a shared machine.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
    // Only for a whole run (`make test`): tests with real processes share the machine with others then. Whoever needs a
    // second try is named at the end, and is a defect to look into.
    retry: Number(process.env.TEST_RETRIES ?? 0),
    reporters: ['default', closingLine],
  },
});

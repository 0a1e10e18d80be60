import { env, launch, shell } from './process-runner.fixture.js';
import { say } from '../../testing/run-process.js';
import { openProcessRunner } from './process-runner.js';

/**
 * One life of an agent, to be killed at any moment: `DIR WANTED UNWANTED`. It has everything that is wanted started and what
 * is not stopped, as a session would that finds in the list what an earlier life has done.
 */
const [, , dir = '', wanted = '', unwanted = ''] = process.argv;
const ignored = (): void => undefined;
const runner = await openProcessRunner({
  ...{ dir, node: 'n1', env, onProblem: ignored, onJournalLost: ignored },
});
say(JSON.stringify({ supervisor: runner.supervisorPid }));
const known = new Set([...runner.list()].map(({ uid }) => uid));
runner.attach(() => undefined);
// Each says once that it began, under the name of its execution.
const job = shell('echo "$BERTH_RUN" >>../../began; exec sleep 86400');
for (const uid of wanted.split(',')) if (uid !== '' && !known.has(uid)) runner.start(launch(uid, job));
for (const uid of unwanted.split(',')) if (uid !== '' && known.has(uid)) runner.stop(uid, 0.05);
await env.sleep(600_000);

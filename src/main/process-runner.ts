import { fileURLToPath } from 'node:url';
import { ProcessRunner, type ProcessRunnerParts } from '../agent/drivers/process-runner.js';

/** The file that supervisors run. */
const program = fileURLToPath(new URL('./supervisor-process.js', import.meta.url));

/** Opens the processes of this machine: finds the supervisor of the agent's directory, or starts it. */
export const openProcessRunner = (parts: Omit<ProcessRunnerParts, 'program'>): Promise<ProcessRunner> =>
  ProcessRunner.open({ ...parts, program });

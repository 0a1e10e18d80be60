import { ConnectionError, type FailedServer, isLoopback } from '../client/connection-error.js';
import { type ErrorCode, isBerthError } from '../model/errors.js';
import { CommandFailure } from './command-failure.js';
import { debugText, defectText } from '../model/defect-text.js';
import { type ExitCode, exitCodes } from './exit-codes.js';
import { painted, say } from './terminal.js';

/** Which servers were meant, and where they are named. */
export interface Addressed {
  readonly urls: readonly string[];
  readonly configPath: string;
}

const codesOfErrors: Partial<Record<ErrorCode, ExitCode>> = {
  ServerUnreachable: exitCodes.unreachable,
  NodeNotConnected: exitCodes.unreachable,
  Unauthorized: exitCodes.notAllowed,
  Forbidden: exitCodes.notAllowed,
  UnknownOutcome: exitCodes.timedOut,
  InvalidKubeconfig: exitCodes.usage,
  InvalidDuration: exitCodes.usage,
  InvalidStoreAddress: exitCodes.usage,
  InvalidHost: exitCodes.usage,
  InvalidFleet: exitCodes.usage,
  InvalidAgentConfig: exitCodes.usage,
  InvalidPlugin: exitCodes.usage,
};

/** What the shell is told of an error. */
export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CommandFailure) return error.exitCode;
  return isBerthError(error) ? (codesOfErrors[error.code] ?? exitCodes.error) : exitCodes.error;
}

/** An error in one line, or in one line per field where an object breaks several rules. */
export function describeError(error: unknown, addressed?: Addressed): string {
  const failed = connectionErrorIn(error);
  if (failed !== undefined) return describeServers(failed, addressed);
  if (error instanceof Error) return error.message;
  return String(error);
}

function describeServers({ code, servers }: ConnectionError, addressed: Addressed | undefined): string {
  const from = addressed === undefined ? '' : ` (from ${addressed.configPath})`;
  const [first] = servers;
  if (first !== undefined && servers.length === 1) {
    const problem = code === 'CertificateUnusable' ? 'the certificate is not trusted' : 'no server answers';
    return `${problem} at ${first.url}${from}: ${first.reason}; ${adviceFor(first)}`;
  }
  const each = servers.map(({ url, reason }) => `${url}: ${reason}`).join('; ');
  return `none of ${servers.length} servers can be used${from}: ${each}`;
}

const adviceFor = ({ url, reason, check }: FailedServer): string =>
  isLoopback(url) && reason === 'connection refused' ? 'start one with: berth up' : check;

/** The failed connection that an error wraps: outer errors only say how often a request was tried. */
function connectionErrorIn(error: unknown): ConnectionError | undefined {
  if (error instanceof ConnectionError) return error;
  return isBerthError(error) ? connectionErrorIn(error.cause) : undefined;
}

/** Prints what went wrong, in one line, and sets the exit code. An error that no code expects is named a defect. */
export function reportFailure(error: unknown, addressed?: Addressed): ExitCode {
  const isExpected =
    error instanceof CommandFailure ||
    isBerthError(error) ||
    // ENOENT and the like come from the system. ERR_… come from Node, for arguments that are defects of the caller.
    /^E[A-Z0-9]+$/.test(String((error as NodeJS.ErrnoException | undefined)?.code));
  const word = painted('red', isExpected ? 'error:' : 'defect:', process.stderr);
  say(`${word} ${isExpected ? describeError(error, addressed) : defectText(error)}`);
  const more = isExpected ? debugText(error) : undefined;
  if (more !== undefined) say(more);
  const code = exitCodeOf(error);
  process.exitCode = code;
  return code;
}

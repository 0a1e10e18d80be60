import type { RunSpec } from '../supervisor/machine.js';

/** What a machine allows for keeping the processes of a run together. */
export type Isolation =
  /** A pid namespace of its own: the kernel ends all of it at once, sessions of their own included. */
  | { readonly kind: 'Namespace'; readonly needsUserNamespace: boolean }
  /** Only a session and a process group: who leaves both is found by the mark in its environment. */
  | { readonly kind: 'Group' };

/**
 * First process of a run. It joins the run's control groups (the files in $1, by spaces), says that all is in place, and
 * waits at the gate, descriptor 3: without the supervisor's word, or if the supervisor dies, the job never begins.
 * Its own words ("Killed") are not the job's, so its stderr is put aside. The file $2, which the job's user may not open, is
 * handed on open, as descriptor 4.
 */
const init = `exec 5>&2 2>/dev/null
for file in $1; do echo 0 >"$file" || exit 125; done
environment=$2
shift 2
echo gated >&3 && read -r word <&3 && [ "$word" = go ] || exit 125
exec 3>&-`;
// In a namespace it stays as the first process, so that the job gets signals as usual and orphans are reaped; when the
// job ends it ends, and with it all that is left.
const stayingInit = `${init}
"$@" 4<"$environment" 2>&5 5>&-
exit $?`;
const leavingInit = `${init}
exec "$@" 4<"$environment" 2>&5 5>&-`;

// Reads the environment as the job's own user: what is in it (LD_PRELOAD) must not reach what runs before.
const job = 'eval "$(cat <&4)" && exec 4<&- && exec "$@"';
const jobName = 'berth-job';

/** The words that start a run behind its gate. */
export function launchLine(
  spec: Pick<RunSpec, 'command' | 'isFenced' | 'user'>,
  isolation: Isolation,
  {
    environmentFile,
    cgroupFiles,
  }: { readonly environmentFile: string; readonly cgroupFiles: readonly string[] },
): readonly [string, ...string[]] {
  const { user, isFenced, command } = spec;
  const asUser = user === undefined ? [] : userWords(user);
  const inside = [...asUser, '/bin/sh', '-c', job, jobName, ...command];
  const files = [cgroupFiles.join(' '), environmentFile];
  if (isolation.kind === 'Group') return ['/bin/sh', '-c', leavingInit, 'berth-init', ...files, ...inside];
  const line: [string, ...string[]] = [
    'unshare',
    ...(isolation.needsUserNamespace ? ['--user', '--map-current-user'] : []),
    ...['--pid', '--fork', '--kill-child', '--mount-proc', '--propagation', 'slave'],
    // A session of its own: signals meant for the job reach its process group and not what keeps it.
    ...['/bin/sh', '-c', stayingInit, 'berth-init', ...files, 'setsid', ...inside],
  ];
  // [S5] The kernel ends it with the supervisor. The signal alone would spare grandchildren; the namespace does not.
  return isFenced ? ['setpriv', '--pdeathsig', 'KILL', ...line] : line;
}

// What is run beside a job counts against its limits, and ends where the job does.
const joining =
  'for file in $0; do echo 0 >"$file" || exit 125; done; environment=$1; shift; exec "$@" 4<"$environment"';

/** The words that run a command beside a run, in its surroundings. */
export function execLine(
  run: {
    readonly pid: number;
    readonly user: RunSpec['user'];
    readonly environmentFile: string;
    readonly cgroupFiles: readonly string[];
  },
  isolation: Isolation,
  command: readonly string[],
): readonly [string, ...string[]] {
  const asUser = run.user === undefined ? [] : userWords(run.user);
  const inside: readonly [string, ...string[]] = [
    ...(['/bin/sh', '-c', joining, run.cgroupFiles.join(' '), run.environmentFile] as const),
    ...[...asUser, '/bin/sh', '-c', job, jobName, ...command],
  ];
  if (isolation.kind === 'Group') return inside;
  const target = ['--target', String(run.pid), '--pid', '--mount'];
  const asOwner = isolation.needsUserNamespace ? ['--user', '--preserve-credentials'] : [];
  return ['nsenter', ...target, ...asOwner, '--wd', '--', ...inside];
}

const userWords = ({ uid, gid }: NonNullable<RunSpec['user']>): [string, ...string[]] => [
  'setpriv',
  ...[`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--no-new-privs'],
];

/** For what stands around a job, and around commands beside it: nothing of the agent's own environment is theirs to know. */
export const wrapperEnvironment = (): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
});

/** Where jobs find programs, unless their templates name a PATH: the same on every node, whoever started the agent. */
export const jobPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * What a shell takes, as the job's user, to have exactly these variables, and to be in the working directory if one is named:
 * the user itself must be able to go there. What jobs write is for their user alone, wherever they write it.
 */
export const environmentText = (
  env: Readonly<Record<string, string>>,
  workingDirectory: string | undefined,
): string =>
  [
    'umask 077\n',
    ...(workingDirectory === undefined ? [] : [`cd -- ${quoted(workingDirectory)} || exit 126\n`]),
    ...Object.entries(env).map(([name, value]) => `export ${name}=${quoted(value)}\n`),
  ].join('');

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

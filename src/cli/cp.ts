import { type ChildProcess, spawn } from 'node:child_process';
import { createReadStream, existsSync, mkdirSync, statSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Readable } from 'node:stream';
import type { Command } from 'commander';
import { ExecConnection } from '../client/exec-session.js';
import { errorOfEnd } from '../model/session-stream.js';
import { sessionProtocol } from '../model/sessions.js';
import { clientCommand } from './client-command.js';
import { CommandFailure, usageFailure } from './command-failure.js';
import { type CopyEnd, copyEnds } from './copy-ends.js';
import { exitCodes } from './exit-codes.js';
import { oneReplicaOf, replicaPath, targetHelp } from './replica-targets.js';
import { type ClientOptions, inSession, type Session } from './session.js';
import { writeOut } from './write-out.js';

export const cpCommand = (): Command =>
  clientCommand('cp', 'copy a file or directory to a replica or from it')
    .argument('<from>', 'a path, or TARGET:PATH')
    .argument('<to>', `a path, or TARGET:PATH. TARGET: ${targetHelp}`)
    .action((from: string, to: string, options: ClientOptions) =>
      inSession(options, async (session) => {
        const ends = copyEnds(from, to);
        if (ends === undefined)
          throw usageFailure('one end is here and the other TARGET:PATH; ./a:b is a path with a colon');
        await (ends.isUpload
          ? upload(session, ends.local, ends.remote)
          : download(session, ends.remote, ends.local));
      }),
    );

// It has its name only once it is whole. The arguments: where to, its name there if that is a directory, its mode.
const takeFile = `if [ -d "$1" ]; then set -- "$1/$2" "$2" "$3"; fi
cat > "$1.part-$$" && chmod "$3" "$1.part-$$" && mv -f "$1.part-$$" "$1"`;
const takeDirectory = `if [ -d "$1" ]; then set -- "$1/$2"; fi
mkdir -p "$1" && exec tar -xf - -C "$1"`;
// Says first which of the two it is.
const give = `if [ -d "$1" ]; then echo d; exec tar -cf - -C "$1" .; fi
if [ ! -e "$1" ]; then echo "$1 is not there" >&2; exit 1; fi
echo f; exec cat "$1"`;

async function upload(session: Session, path: string, remote: CopyEnd): Promise<void> {
  if (!existsSync(path)) throw usageFailure(`${path} is not there`);
  const found = statSync(path);
  const isDirectory = found.isDirectory();
  const mode = (found.mode & 0o777).toString(8);
  const words = [isDirectory ? takeDirectory : takeFile, 'sh', remote.path, basename(path), mode];
  let packing: Promise<number | null> | undefined;
  const input = (): Readable => {
    if (!isDirectory) return createReadStream(path);
    const tar = spawn('tar', ['-cf', '-', '-C', path, '.'], { stdio: ['ignore', 'pipe', 'inherit'] });
    packing = endOfTar(tar);
    return tar.stdout;
  };
  await shell(session, remote.target, words, input, () => undefined);
  // What could not be read is not there, although the rest is. With 1 it says that a file grew meanwhile.
  const status = packing === undefined ? 0 : await packing;
  if (status === null || status > 1)
    throw new CommandFailure(exitCodes.error, `not all of ${path} could be read`);
}

const endOfTar = (tar: ChildProcess): Promise<number | null> =>
  new Promise((resolve) => tar.once('close', resolve).once('error', () => resolve(null)));

async function download(session: Session, remote: CopyEnd, to: string): Promise<void> {
  const path = existsSync(to) && statSync(to).isDirectory() ? join(to, basename(remote.path)) : to;
  let taker:
    | { take(bytes: Buffer): Promise<void>; done(): Promise<void>; leave(): Promise<void> }
    | undefined;
  let head = Buffer.alloc(0);
  try {
    await shell(session, remote.target, [give, 'sh', remote.path], undefined, async (bytes) => {
      if (taker !== undefined) return taker.take(bytes);
      head = Buffer.concat([head, bytes]);
      if (head.length < 2) return;
      taker = head[0] === 'd'.charCodeAt(0) ? unpackedInto(path) : await writtenTo(path);
      await taker.take(head.subarray(2));
    });
    await taker?.done();
  } catch (error) {
    await taker?.leave();
    throw error;
  }
}

/** Runs a script of the shell beside the replica; that it fails is an error, and what it said of it stands before. */
async function shell(
  session: Session,
  target: string,
  words: readonly string[],
  /** Begun when it is read: what a child has written and nobody reads is lost when it ends. */
  input: (() => Readable) | undefined,
  onOutput: (bytes: Buffer) => Promise<void> | void,
): Promise<void> {
  const replica = await oneReplicaOf(session, target);
  const query = new URLSearchParams(
    ['sh', '-c', ...words].map((word): [string, string] => ['command', word]),
  );
  const socket = await session.client.upgrade(replicaPath(session, replica, 'exec'), query, sessionProtocol);
  const end = await new ExecConnection(socket).run({
    ...(input !== undefined && { input: input() }),
    onOutput: (stream, bytes) => (stream === 'stdout' ? onOutput(bytes) : writeOut(process.stderr, bytes)),
  });
  if (end.exitCode === undefined) throw errorOfEnd(end);
  if (end.exitCode !== 0)
    throw new CommandFailure(
      exitCodes.error,
      `copying failed beside ${replica}, with exit code ${end.exitCode}`,
    );
}

function unpackedInto(path: string) {
  mkdirSync(path, { recursive: true });
  const tar = spawn('tar', ['-xf', '-', '-C', path], { stdio: ['pipe', 'ignore', 'inherit'] });
  const ended = endOfTar(tar);
  tar.stdin.on('error', () => undefined);
  return {
    take: (bytes: Buffer) => writeOut(tar.stdin, bytes),
    done: async () => {
      tar.stdin.end();
      if ((await ended) !== 0) throw new CommandFailure(exitCodes.error, `cannot unpack into ${path}`);
    },
    leave: async () => void tar.kill(),
  };
}

async function writtenTo(path: string) {
  const part = `${path}.part-${process.pid}`;
  const file = await open(part, 'w');
  return {
    take: (bytes: Buffer) => file.appendFile(bytes),
    done: async () => {
      await file.close();
      await rename(part, path);
    },
    leave: async () => {
      await file.close();
      await rm(part, { force: true });
    },
  };
}

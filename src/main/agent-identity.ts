import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { joinCell, nobody, renewNode } from '../client/join-cell.js';
import type { ServerAccess } from '../client/client.js';
import type { ServerList } from '../client/server-list.js';
import { backoffAfter } from '../env/backoff.js';
import type { Env } from '../env/env.js';
import { msBetween, wallMs, wallTimestamp } from '../env/instant.js';
import { BerthError, isBerthError } from '../model/errors.js';
import type { NodeCredentials } from '../model/node-wire.js';
import { validityOf } from '../serve/identity/authority-certificate.js';
import { newRequest } from '../serve/identity/certificate-request.js';
import { addressTowards, isLoopbackAddress, machineName } from './own-address.js';
import { writeAtomically } from '../serve/identity/write-atomically.js';

/** What is kept of who this node is, in one file that only its owner reads. */
interface Kept {
  /** Made here, and before anything is asked for, so that asking again is asking the same. */
  readonly privateKey: string;
  readonly credentials?: NodeCredentials;
  /** Where its replicas are reached, as it was last known. */
  readonly address?: string;
}

export interface JoinOptions {
  /** The agent's directory. */
  readonly dir: string;
  readonly servers: ServerList;
  readonly tokenFile: string | undefined;
  /** The CA of the servers, PEM, if the token does not say what it is known by. */
  readonly ca: string | undefined;
  readonly node: string;
  readonly region: string | undefined;
  readonly zone: string | undefined;
  /** Where what runs here is reached; found out if left out. */
  readonly address: string | undefined;
  readonly env: Env;
  readonly onProblem: (line: string) => void;
}

const backoff = { firstMs: 500, mostMs: 5_000 };
// A server that is being started may take a while; a person who waits should learn before long that it does not come.
const joinMsMax = 60_000;
// Refusals that another server, or another time, would not change.
const finalCodes = ['Unauthorized', 'Forbidden', 'BadRequest', 'CertificateUnusable', 'InvalidAgentConfig'];

/** Who this node is: its key, which never leaves the machine, and its certificate, renewed before it expires. */
export class AgentIdentity {
  readonly #file: string;

  private constructor(
    private readonly options: JoinOptions,
    private kept: Kept & { readonly credentials: NodeCredentials; readonly address: string },
  ) {
    this.#file = fileIn(options.dir);
  }

  /** The identity that the directory has, or one by the token. */
  static async open(options: JoinOptions): Promise<AgentIdentity> {
    const { dir, env, region, zone } = options;
    mkdirSync(dir, { recursive: true, mode: 0o711 });
    const known = read(dir);
    const isGood = known?.credentials !== undefined && !isExpired(known.credentials, env);
    if (known?.credentials !== undefined && options.node !== known.credentials.node && isGood)
      throw wrong(`${dir} belongs to node ${known.credentials.node}, not to ${options.node}`);
    const kept =
      known?.credentials !== undefined && isGood
        ? { ...known, credentials: known.credentials }
        : await joined(options, known);
    const { credentials } = kept;
    if (
      (region ?? credentials.region) !== credentials.region ||
      (zone ?? credentials.zone) !== credentials.zone
    )
      throw wrong(
        `node ${credentials.node} has joined in ${credentials.region}/${credentials.zone}, not in ${region ?? credentials.region}/${zone ?? credentials.zone}`,
      );
    const address = await currentAddress(options, kept.address);
    if (address !== kept.address) await write(fileIn(dir), { ...kept, address });
    return new AgentIdentity(options, { ...kept, address });
  }

  get place(): Pick<NodeCredentials, 'node' | 'region' | 'zone'> {
    return this.kept.credentials;
  }

  /** Where what runs here is reached. */
  get address(): string {
    return this.kept.address;
  }

  /** How this node reaches a server. */
  accessTo(url: string): ServerAccess {
    const { privateKey, credentials } = this.kept;
    return { ...nobody, url, ca: credentials.authority, cert: credentials.certificate, key: privateKey };
  }

  /** Gets the next certificate if a third of this one's time is left. Whether it did. */
  async renewIfDue(): Promise<boolean> {
    const { env, servers } = this.options;
    const { privateKey, credentials } = this.kept;
    const { notBefore, notAfter } = validityOf(credentials.certificate);
    if (msBetween(env.clock.wall(), notAfter) > msBetween(notBefore, notAfter) / 3) return false;
    const { requestPem } = await newRequest(privateKey);
    let problem: unknown;
    for (const url of servers.inTurn())
      try {
        const renewed = await renewNode(env, this.accessTo(url), requestPem);
        this.kept = { ...this.kept, credentials: renewed };
        await write(this.#file, this.kept);
        return true;
      } catch (error) {
        problem = error;
      }
    throw problem;
  }
}

const fileIn = (dir: string): string => join(dir, 'identity.json');
const write = (file: string, kept: Kept): Promise<void> =>
  writeAtomically(file, `${JSON.stringify(kept, undefined, 2)}\n`);

function read(dir: string): Kept | undefined {
  const file = fileIn(dir);
  try {
    // A parsed boundary: written by this file.
    return JSON.parse(readFileSync(file, 'utf8')) as Kept;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new BerthError('CertificateUnusable', `${file} cannot be used: ${(cause as Error).message}`, {
      cause,
    });
  }
}

/** The name that the directory has joined by, if it has. */
export const nameKeptIn = (dir: string): string | undefined => read(dir)?.credentials?.node;

const isExpired = ({ certificate }: NodeCredentials, env: Env): boolean =>
  wallMs(validityOf(certificate).notAfter) <= wallMs(env.clock.wall());

/** Joins by the token, at whichever server answers first. */
async function joined(
  options: JoinOptions,
  known: Kept | undefined,
): Promise<Kept & { readonly credentials: NodeCredentials }> {
  const { dir, servers, tokenFile, ca, node, region, zone, env, onProblem } = options;
  const token = tokenFile === undefined ? undefined : contentsOf(tokenFile);
  if (token === undefined) throw wrong(whyToken(known, env));
  const { privateKeyPem: privateKey, requestPem } = await newRequest(known?.privateKey);
  await write(fileIn(dir), { ...known, privateKey });
  const begun = env.clock.monotonic();
  for (let attempt = 1; ; attempt++) {
    let problem: unknown;
    for (const url of servers.inTurn())
      try {
        const address = options.address ?? (await addressTowards(url));
        const isOfUse = options.address !== undefined || !isLoopbackAddress(address);
        const credentials = await joinCell(env, url, token, ca, {
          ...{ node, request: requestPem },
          ...(region !== undefined && { region }),
          ...(zone !== undefined && { zone }),
          ...(!isOfUse && { loopbackOf: machineName() ?? 'a machine without a boot id' }),
        });
        const kept = { privateKey, credentials, address };
        await write(fileIn(dir), kept);
        return kept;
      } catch (error) {
        if (isBerthError(error) && finalCodes.includes(error.code)) throw error;
        problem = error;
      }
    if (msBetween(begun, env.clock.monotonic()) > joinMsMax) throw problem;
    onProblem(`cannot join yet: ${problem instanceof Error ? problem.message : String(problem)}`);
    await env.sleep(backoffAfter(backoff, attempt, env.random));
  }
}

/** Where this machine is reached now: as it was told, or as it reaches the servers, or as it was the last time. */
async function currentAddress(
  { address, servers }: JoinOptions,
  before: string | undefined,
): Promise<string> {
  if (address !== undefined) return address;
  const found = await Promise.allSettled(servers.urls.map(addressTowards));
  const addresses = found.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
  // A loopback address is no news of a machine that has another: the server may be behind a tunnel this time.
  const known = addresses.find((each) => !isLoopbackAddress(each)) ?? before ?? addresses[0];
  if (known !== undefined) return known;
  const [failed] = found;
  throw failed?.status === 'rejected' ? failed.reason : wrong('the address of this machine is not known');
}

function whyToken(known: Kept | undefined, env: Env): string {
  const ask = 'give --token-file with a join token (berth token create --join)';
  if (known?.credentials === undefined) return `this machine has not joined: ${ask}`;
  const { notAfter } = validityOf(known.credentials.certificate);
  const at = wallTimestamp(notAfter);
  return isExpired(known.credentials, env)
    ? `the certificate of node ${known.credentials.node} expired at ${at}: ${ask} for that very node (--node)`
    : ask;
}

function contentsOf(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (cause) {
    throw new BerthError('InvalidAgentConfig', `--token-file ${file}: ${(cause as Error).message}`, {
      cause,
    });
  }
}

const wrong = (problem: string): BerthError => new BerthError('InvalidAgentConfig', problem);

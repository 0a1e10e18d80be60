import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Env } from '../../env/env.js';
import { msBetween, type WallInstant, wallTimestamp } from '../../env/instant.js';
import { BerthError } from '../../model/errors.js';
import {
  CertificateAuthority,
  type CertificatePair,
  checkPair,
  coversHost,
  createAuthority,
  serverHosts,
  validityOf,
} from './authority-certificate.js';
import { writeAtomically } from './write-atomically.js';

/**
 * The CA and the server certificate of one directory: DIR/pki/ca.pem and DIR/pki/server.pem, each a private
 * key followed by its certificate. Key and certificate share a file because a crash must never leave a new
 * key beside an old certificate. Only one process at a time may use a directory.
 */
export class CertificateStore {
  readonly authority: CertificateAuthority;
  readonly #directory: string;
  readonly #hosts: readonly string[];
  readonly #listeners = new Set<(pair: CertificatePair) => void>();
  #server: CertificatePair;
  #renewal: Promise<boolean> | undefined;

  private constructor(parts: {
    directory: string;
    hosts: readonly string[];
    authority: CertificateAuthority;
    server: CertificatePair;
  }) {
    this.#directory = parts.directory;
    this.#hosts = parts.hosts;
    this.authority = parts.authority;
    this.#server = parts.server;
  }

  /**
   * Loads what is there and makes what is not. A file that cannot be used ends it with CertificateUnusable,
   * which names the file, and leaves everything as it was.
   */
  static async open(options: {
    dir: string;
    env: Env;
    /** Names and addresses of this server besides the loopback ones. */
    hosts: readonly string[];
    /** The CA of a cell with several servers, kept elsewhere: then there is no ca.pem. */
    authority?: CertificatePair;
  }): Promise<CertificateStore> {
    const { env } = options;
    const hosts = serverHosts(options.hosts);
    const directory = join(options.dir, 'pki');
    await mkdir(directory, { recursive: true, mode: 0o700 }).catch((cause: unknown) => {
      throw unusable(directory, cause);
    });
    const [authorityFile, serverFile] = [join(directory, 'ca.pem'), join(directory, 'server.pem')];
    const given = options.authority;
    const stored = given ?? (await readPair(authorityFile));
    const storedServer = await readPair(serverFile);
    if (stored === undefined && storedServer !== undefined) {
      throw unusable(
        authorityFile,
        new Error(
          'it is missing, while server.pem, which it issued, is there; restore it, or remove server.pem too',
        ),
      );
    }
    const pair = stored ?? (await createAuthority(env));
    const authority = openAuthority(env, pair, authorityFile);
    const isForeign = given !== undefined && !isIssuedBy(authority, storedServer);
    if (storedServer !== undefined && !isForeign) checkServer(serverFile, storedServer, authority);
    if (stored === undefined) await writePair(authorityFile, pair);

    const isGood =
      storedServer !== undefined &&
      !isForeign &&
      hosts.every((host) => coversHost(storedServer.certificatePem, host));
    const server = isGood ? storedServer : await authority.issueServer(hosts);
    if (!isGood) await writePair(serverFile, server);
    const store = new CertificateStore({ directory, hosts, authority, server });
    await store.renewIfDue(env.clock.wall());
    return store;
  }

  get server(): CertificatePair {
    return this.#server;
  }

  /** When the server certificate should be replaced: with a third of its life left. */
  isDue(now: WallInstant): boolean {
    const { notBefore, notAfter } = validityOf(this.#server.certificatePem);
    return msBetween(now, notAfter) <= msBetween(notBefore, notAfter) / 3;
  }

  /**
   * Makes and stores a new server certificate if it is time, then tells the listeners. When it fails the old
   * one stays in use and the next call tries again.
   */
  renewIfDue(now: WallInstant): Promise<boolean> {
    this.#renewal ??= this.#renew(now).finally(() => {
      this.#renewal = undefined;
    });
    return this.#renewal;
  }

  /** Calls `listener` with every later server certificate; a TLS server then takes it with setSecureContext. */
  onRenewed(listener: (pair: CertificatePair) => void): { stop(): void } {
    this.#listeners.add(listener);
    return { stop: () => void this.#listeners.delete(listener) };
  }

  async #renew(now: WallInstant): Promise<boolean> {
    if (!this.isDue(now)) return false;
    const file = join(this.#directory, 'server.pem');
    if (msBetween(now, this.authority.notAfter) <= 0) {
      throw unusable(
        join(this.#directory, 'ca.pem'),
        new Error(`the CA expired at ${wallTimestamp(this.authority.notAfter)}`),
      );
    }
    const pair = await this.authority.issueServer(this.#hosts);
    await writePair(file, pair);
    this.#server = pair;
    for (const listener of this.#listeners) listener(pair);
    return true;
  }
}

function openAuthority(env: Env, pair: CertificatePair, file: string): CertificateAuthority {
  try {
    return CertificateAuthority.open(env, pair);
  } catch (cause) {
    throw unusable(file, cause);
  }
}

const isIssuedBy = (authority: CertificateAuthority, pair: CertificatePair | undefined): boolean =>
  pair !== undefined && authority.hasIssued(pair.certificatePem);

/** What a TLS server needs: its certificate, and the CA that client certificates must come from. */
export function secureContextOf(store: CertificateStore): { key: string; cert: string; ca: string } {
  return {
    key: store.server.privateKeyPem,
    cert: store.server.certificatePem,
    ca: store.authority.certificatePem,
  };
}

function checkServer(file: string, pair: CertificatePair, authority: CertificateAuthority): void {
  try {
    checkPair(pair);
  } catch (cause) {
    throw unusable(file, cause);
  }
  if (!authority.hasIssued(pair.certificatePem)) {
    throw unusable(file, new Error('it was not issued by the CA in ca.pem beside it'));
  }
}

async function readPair(file: string): Promise<CertificatePair | undefined> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw unusable(file, cause);
  }
  const blocks = text.match(/-----BEGIN ([A-Z ]+)-----\n[A-Za-z0-9+/=\n]+-----END \1-----\n/g) ?? [];
  const [privateKeyPem, certificatePem] = blocks;
  if (
    privateKeyPem === undefined ||
    certificatePem === undefined ||
    text !== privateKeyPem + certificatePem
  ) {
    throw unusable(file, new Error('it does not hold one private key followed by one certificate, as PEM'));
  }
  return { privateKeyPem, certificatePem };
}

async function writePair(file: string, pair: CertificatePair): Promise<void> {
  try {
    await writeAtomically(file, pair.privateKeyPem + pair.certificatePem);
  } catch (cause) {
    throw unusable(file, cause);
  }
}

function unusable(file: string, cause: unknown): BerthError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new BerthError('CertificateUnusable', `${file} cannot be used: ${why}`, {
    cause,
    details: { file },
  });
}

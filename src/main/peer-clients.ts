import { BerthClient } from '../client/client.js';
import type { Env } from '../env/env.js';
import { type MonotonicInstant, msBetween } from '../env/instant.js';
import type { CertificateAuthority } from '../serve/identity/authority-certificate.js';

const certificateMs = 24 * 3_600_000;
const timeoutMsDefault = 5_000;
// Servers of one cell are few; past this the client that was made first is closed.
const clientsMax = 16;

interface Connected {
  readonly since: MonotonicInstant;
  readonly client: Promise<BerthClient>;
}

/**
 * Clients to the other servers of the cell, as one of them: whoever has the CA they share is one, and gives itself
 * the certificate that says so. Everything is sent once: what is thrown says whether it may have been done.
 */
export class PeerClients {
  readonly #connected = new Map<string, Connected>();

  readonly #timeoutMs: number;

  constructor(
    private readonly parts: {
      readonly env: Env;
      readonly authority: CertificateAuthority;
      /** How long an answer may take. */
      readonly timeoutMs?: number;
    },
  ) {
    this.#timeoutMs = parts.timeoutMs ?? timeoutMsDefault;
  }

  at(address: string): Promise<BerthClient> {
    const { env } = this.parts;
    const now = env.clock.monotonic();
    const known = this.#connected.get(address);
    if (known !== undefined && msBetween(known.since, now) < certificateMs / 2) return known.client;
    const client = this.#connect(address);
    if (known !== undefined) this.#retire(address, known);
    this.#connected.set(address, { since: now, client });
    void client.catch(() => {
      if (this.#connected.get(address)?.client === client) this.#connected.delete(address);
    });
    const [first] = this.#connected;
    if (first !== undefined && this.#connected.size > clientsMax) this.#retire(...first);
    return client;
  }

  async close(): Promise<void> {
    const all = [...this.#connected.values()];
    this.#connected.clear();
    for (const { client } of all) (await client.catch(() => undefined))?.close();
  }

  /** What is under way with it may still end; nothing new is given to it. */
  #retire(address: string, { client }: Connected): void {
    this.#connected.delete(address);
    this.parts.env.after(
      2 * this.#timeoutMs,
      () => void client.then((last) => last.close()).catch(() => undefined),
    );
  }

  async #connect(address: string): Promise<BerthClient> {
    const { env, authority } = this.parts;
    const { certificatePem, privateKeyPem } = await authority.issueClient(
      { kind: 'controller', controller: 'commit' },
      certificateMs,
    );
    return new BerthClient({
      access: {
        ...{ url: address, ca: authority.certificatePem, cert: certificatePem, key: privateKeyPem },
        ...{ token: undefined, namespace: 'default' },
      },
      ...{ env, timeoutMs: this.#timeoutMs },
      retries: { attemptsMax: 1 },
    });
  }
}

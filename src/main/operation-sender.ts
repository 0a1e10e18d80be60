import { BerthClient } from '../client/client.js';
import type { ForwardedOperation } from '../commit/forwarding-authority.js';
import type { Env } from '../env/env.js';
import { type MonotonicInstant, msBetween } from '../env/instant.js';
import type { CertificateAuthority } from '../serve/identity/authority-certificate.js';

const certificateMs = 24 * 3_600_000;
const timeoutMs = 5_000;

interface Connected {
  readonly address: string;
  readonly since: MonotonicInstant;
  readonly client: Promise<BerthClient>;
}

/**
 * Sends operations to the server that holds the lease `authority`, as one of the servers of the cell: whoever has
 * the CA they share is one, and gives itself the certificate that says so.
 */
export class OperationSender {
  #connected: Connected | undefined;

  constructor(private readonly parts: { readonly env: Env; readonly authority: CertificateAuthority }) {}

  /** Sent once. What is thrown says whether it may have been done: see the errors of the client. */
  async send(address: string, operation: ForwardedOperation, input: unknown): Promise<unknown> {
    const client = await this.#clientFor(address);
    return client.ask(`/apis/authority.berth.dev/v1/operations/${operation}`, input);
  }

  async close(): Promise<void> {
    const last = this.#connected;
    this.#connected = undefined;
    (await last?.client.catch(() => undefined))?.close();
  }

  #clientFor(address: string): Promise<BerthClient> {
    const { env } = this.parts;
    const now = env.clock.monotonic();
    const known = this.#connected;
    if (known?.address === address && msBetween(known.since, now) < certificateMs / 2) return known.client;
    const client = this.#connect(address);
    this.#connected = { address, since: now, client };
    void client.catch(() => {
      if (this.#connected?.client === client) this.#connected = undefined;
    });
    // What is under way with the last one may still end; nothing new is given to it.
    if (known !== undefined)
      env.after(2 * timeoutMs, () => void known.client.then((last) => last.close()).catch(() => undefined));
    return client;
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
      ...{ env, timeoutMs },
    });
  }
}

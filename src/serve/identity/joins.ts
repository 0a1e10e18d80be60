import type { Env } from '../../env/env.js';
import { wallTimestamp } from '../../env/instant.js';
import { BerthError } from '../../model/errors.js';
import type { JoinRequest, NodeCredentials } from '../../model/node-wire.js';
import type { CellChange, CellRecords } from '../../objects/cell-records.js';
import type { CertificateAuthority } from './authority-certificate.js';
import type { CertificateRequest } from './certificate-request.js';
import { isNodeName, type JoinGrant, whyElsewhere, whyNotCovered } from './join-grant.js';
import type { TokenRecord } from './tokens.js';

/** A machine that has joined: what is remembered of it, under the name of its node. */
export interface JoinedNode {
  readonly id: string;
  readonly region: string;
  readonly zone: string;
  /** SHA-256 of its public key: only who has that key renews its certificate. */
  readonly keyHash: string;
  readonly joinedAt: string;
  readonly token: string;
}

export interface JoinsParts {
  readonly tokens: CellRecords<TokenRecord>;
  readonly joined: CellRecords<JoinedNode>;
  /** Whether all of the changes were made; none if one of the records is not as it was seen. */
  readonly apply: (changes: readonly CellChange[]) => Promise<boolean>;
  /** Whether there is a Node of that name. */
  readonly hasNode: (name: string) => Promise<boolean>;
  readonly authority: CertificateAuthority;
  /** The boot id of the machine of this server, if it has one. */
  readonly machine?: string | undefined;
  readonly env: Env;
}

const dayMs = 86_400_000;
// Bounds what a stolen certificate is good for. Agents renew it when a third of it is left.
const certificateMs = 7 * dayMs;
const attemptsMax = 10;

/**
 * How machines become nodes. A join token is used up in the transaction that records the node, with guards on both, so
 * that it makes one node whichever servers it is shown to. A refusal leaves the token as it was. The same machine may ask
 * again with the same key.
 */
export class Joins {
  constructor(private readonly parts: JoinsParts) {}

  /** Where a node that has joined may be; undefined of one that was set up otherwise. */
  async placeOf(node: string): Promise<Pick<JoinedNode, 'region' | 'zone'> | undefined> {
    return this.parts.joined.get(node);
  }

  /** Of the key that a node has joined with last; undefined of one that was set up otherwise. */
  async keyHashOf(node: string): Promise<string | undefined> {
    return (await this.parts.joined.get(node))?.keyHash;
  }

  async join(
    tokenId: string,
    node: string,
    request: CertificateRequest,
    expected: Pick<JoinRequest, 'region' | 'zone' | 'loopbackOf'> = {},
  ): Promise<NodeCredentials> {
    const { tokens, joined, apply, env } = this.parts;
    const { keyHash } = request;
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const token = await tokens.find(tokenId);
      // What cannot be a node's name is no key of the store either, and is refused below.
      const before = isNodeName(node) ? await joined.find(node) : undefined;
      const { join, usedBy } = token?.record ?? {};
      if (token === undefined || join === undefined) throw refused('it is no token for joining');
      const unexpected = whyElsewhere(join, expected) ?? this.#whyNoAddress(node, expected);
      if (unexpected !== undefined) throw refused(unexpected);
      // The answer to the same question was lost: it is given again.
      const isAgain =
        usedBy?.node === node && usedBy.keyHash === keyHash && before?.record.keyHash === keyHash;
      if (isAgain) return this.#credentials(before.record, request);
      if (usedBy !== undefined) throw refused(`the token has been used, by node ${usedBy.node}`);
      const reason = whyNotCovered(join, node) ?? (await this.#whyTaken(join, node, before !== undefined));
      if (reason !== undefined) throw refused(reason);
      const { region, zone } = join;
      const joinedAt = wallTimestamp(env.clock.wall());
      const record: JoinedNode = { id: node, region, zone, keyHash, joinedAt, token: tokenId };
      const used = { ...token.record, usedBy: { node, keyHash } };
      if (await apply([tokens.change(used, token), joined.change(record, before)]))
        return this.#credentials(record, request);
    }
    throw new BerthError('StoreUnavailable', 'the token or the node kept changing; try again');
  }

  /** A new certificate for a node that has one. */
  async renew(node: string, request: CertificateRequest): Promise<NodeCredentials> {
    const joined = await this.parts.joined.get(node);
    if (joined === undefined) throw refused(`node ${node} has not joined by a token`);
    if (joined.keyHash !== request.keyHash)
      throw refused(`node ${node} has joined with another key, and only that one renews its certificate`);
    return this.#credentials(joined, request);
  }

  /** A token that does not name the node cannot take the place of one that is there. */
  async #whyTaken({ node }: JoinGrant, name: string, hasJoined: boolean): Promise<string | undefined> {
    if (node === name || !(hasJoined || (await this.parts.hasNode(name)))) return undefined;
    return `there is a node ${name}; a token that names it (berth token create --join --node ${name}) lets it join again`;
  }

  /** A loopback address leads to this machine from other machines: their own. */
  #whyNoAddress(node: string, { loopbackOf }: Pick<JoinRequest, 'loopbackOf'>): string | undefined {
    if (loopbackOf === undefined || loopbackOf === this.parts.machine) return undefined;
    return `node ${node} reaches this server through a loopback address of another machine, as through a tunnel: give the address of the node with berth agent --address`;
  }

  async #credentials(
    { id, region, zone }: JoinedNode,
    request: CertificateRequest,
  ): Promise<NodeCredentials> {
    const { authority } = this.parts;
    const certificate = await authority.certifyClient({ kind: 'node', node: id }, request.key, certificateMs);
    return { node: id, region, zone, certificate, authority: authority.certificatePem };
  }
}

const refused = (reason: string): BerthError => new BerthError('Forbidden', reason);

import { isBerthError } from '../model/errors.js';
import { knownHereParameter, type Usage, usageItemsMax, type UsagePage, usagePath } from '../model/usage.js';
import type { OtherServer } from '../objects/decisions/shared-decisions.js';
import type { PeerClients } from './peer-clients.js';

export interface CellUsageParts {
  readonly here: Usage;
  readonly others: () => Promise<readonly OtherServer[]>;
  readonly peers: Pick<PeerClients, 'at'>;
}

/** Use of the replicas of all nodes of the cell: each server knows what the nodes connected to it have told. */
export class CellUsage implements Usage {
  constructor(private readonly parts: CellUsageParts) {}

  async list(tenant: string | undefined): Promise<UsagePage> {
    const { here, others } = this.parts;
    const pages = await Promise.all([
      here.list(tenant),
      ...(await others()).map((other) => this.#ask(other, tenant)),
    ]);
    const items = pages.flatMap((page) => page.items);
    const shown = items.slice(0, usageItemsMax);
    return {
      items: shown,
      more: pages.reduce((sum, page) => sum + page.more, items.length - shown.length),
      unanswered: pages.flatMap((page) => page.unanswered),
    };
  }

  async #ask({ name, address }: OtherServer, tenant: string | undefined): Promise<UsagePage> {
    const none = (message: string): UsagePage => ({
      ...{ items: [], more: 0 },
      unanswered: [{ server: name, message }],
    });
    if (address === undefined) return none('it does not say where it can be reached');
    const query = new URLSearchParams({
      [knownHereParameter]: 'true',
      ...(tenant !== undefined && { namespace: tenant }),
    });
    try {
      const client = await this.parts.peers.at(address);
      return (await client.read(usagePath, { query })) as UsagePage;
    } catch (error) {
      if (!isBerthError(error)) throw error;
      return none(error.message);
    }
  }
}

import type { DecisionPage, DecisionQuery, Decisions, NewDecision } from '../../model/decisions.js';
import { BerthError, isBerthError } from '../../model/errors.js';
import type { Decision } from '../../model/kinds/decision.js';
import { continueAfter, type DecisionPosition, newestFirst, positionOf } from './decision-name.js';

/** Another server of the cell, and where it says that it can be reached; undefined if it cannot. */
export interface OtherServer {
  readonly name: string;
  readonly address: string | undefined;
}

export interface SharedDecisionsParts {
  /** Those of this server. */
  readonly local: Decisions & { readonly server: string };
  /** The other servers of the cell. */
  readonly others: () => Promise<readonly OtherServer[]>;
  /** What the server at an address keeps itself. Throws a BerthError if it does not answer. */
  readonly ask: (address: string) => Pick<Decisions, 'get' | 'list'>;
}

/** The decisions of all servers of a cell: one is asked for by its name, lists are merged. */
export class SharedDecisions implements Decisions {
  constructor(private readonly parts: SharedDecisionsParts) {}

  newName(): string {
    return this.parts.local.newName();
  }

  append(decision: NewDecision): void {
    this.parts.local.append(decision);
  }

  async get(tenant: string, name: string): Promise<Decision | undefined> {
    const { local, others, ask } = this.parts;
    const server = positionOf(name)?.server;
    if (server === undefined || server === local.server) return local.get(tenant, name);
    const keeper = (await others()).find((other) => other.name === server);
    if (keeper === undefined) return undefined;
    const reached = `decision ${name} is kept by server ${server}, which`;
    if (keeper.address === undefined)
      throw new BerthError('ServerUnreachable', `${reached} does not say where it can be reached`);
    try {
      return await ask(keeper.address).get(tenant, name);
    } catch (error) {
      if (!isBerthError(error)) throw error;
      throw new BerthError('ServerUnreachable', `${reached} does not answer: ${error.message}`, {
        cause: error,
      });
    }
  }

  async list(query: DecisionQuery): Promise<DecisionPage> {
    const { local, others } = this.parts;
    const pages = await Promise.all([
      local.list(query),
      ...(await others()).map((other) => this.#listAt(other, query)),
    ]);
    return mergedPages(pages, query.limit);
  }

  async #listAt({ name, address }: OtherServer, query: DecisionQuery): Promise<DecisionPage> {
    const none = (message: string): DecisionPage => ({ items: [], unanswered: [{ server: name, message }] });
    if (address === undefined) return none('it does not say where it can be reached');
    try {
      return await this.parts.ask(address).list(query);
    } catch (error) {
      if (!isBerthError(error)) throw error;
      return none(error.message);
    }
  }
}

/** One page of several, each with the newest after one position. */
export function mergedPages(pages: readonly DecisionPage[], limit: number): DecisionPage {
  const all = pages
    .flatMap(({ items }) => items)
    .map((item) => ({ item, position: positionIn(item) }))
    .toSorted((a, b) => newestFirst(a.position, b.position));
  const shown = all.slice(0, limit);
  const last = shown.at(-1);
  const hasMore = all.length > limit || pages.some((page) => page.continue !== undefined);
  const remaining = pages.map((page) => page.remaining ?? (page.continue === undefined ? 0 : undefined));
  const isCounted = remaining.every((count) => count !== undefined);
  return {
    items: shown.map(({ item }) => item),
    ...(hasMore && last !== undefined && { continue: continueAfter(last.position) }),
    ...(hasMore && isCounted && { remaining: all.length - shown.length + sum(remaining) }),
    unanswered: pages.flatMap(({ unanswered }) => unanswered),
  };
}

const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);

const positionIn = ({ metadata: { name } }: Decision): DecisionPosition =>
  positionOf(name) ?? { stamp: 0, server: name };

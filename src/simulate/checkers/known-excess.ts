import { type Amount, countOf, eachResource } from '../../model/amount.js';

type Most = (resource: string) => number;

/**
 * Remembers which use stands above its bound because the bound shrank: such use may only shrink. What was raised
 * above its bound is not remembered, so that a look from scratch finds it too.
 */
export class KnownExcess {
  readonly #known = new Map<string, number>();

  /** What a commit raised above `most`. `bound` is what counts from now on. */
  raised(whose: string, before: Amount, after: Amount, most: Most, bound: Most): readonly string[] {
    const messages: string[] = [];
    for (const [resource, is] of eachResource(after)) {
      const was = countOf(before, resource) ?? 0;
      const name = `${whose} ${resource}`;
      if (is > was && is > most(resource))
        messages.push(`${name} was raised from ${was} to ${is}, above ${most(resource)}`);
      else if (is > bound(resource)) {
        // Raised within the bound that held until this commit, or left where it was while the bound shrank.
        if (is > was || bound(resource) < most(resource) || this.#known.has(name)) this.#known.set(name, is);
      } else this.#known.delete(name);
    }
    return messages;
  }

  /** What stands above its bound and was never seen to be left there by a bound that shrank. */
  unknown(whose: string, used: Amount, bound: Most): readonly string[] {
    const messages: string[] = [];
    for (const [resource, is] of eachResource(used)) {
      const name = `${whose} ${resource}`;
      if (is > bound(resource) && is > (this.#known.get(name) ?? Number.NEGATIVE_INFINITY))
        messages.push(`${name} stands at ${is}, above ${bound(resource)}`);
    }
    return messages;
  }
}

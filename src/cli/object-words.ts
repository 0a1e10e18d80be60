import { usageFailure } from './command-failure.js';
import type { KindLookup, ServedKind } from './kind-lookup.js';

/** What a command is about: objects of one kind, those named or all. */
export interface Target {
  readonly kind: ServedKind;
  /** Empty: all that are selected otherwise. */
  readonly names: readonly string[];
}

/**
 * Reads `KIND`, `KIND NAME…`, `KIND,KIND NAME…`, `KIND/NAME…` and categories such as `all`. Words of both forms
 * together make no sense.
 */
export function targetsOf(words: readonly string[], kinds: KindLookup): readonly Target[] {
  const [first = '', ...rest] = words;
  if (words.some((word) => word.includes('/'))) {
    const plain = words.find((word) => !word.includes('/'));
    if (plain !== undefined)
      throw usageFailure(`${JSON.stringify(plain)}: where one word is KIND/NAME, all must be`);
    return words.map((word) => {
      const [kind = '', name = '', ...more] = word.split('/');
      if (kind === '' || name === '' || more.length > 0)
        throw usageFailure(`${JSON.stringify(word)} is not of the form KIND/NAME`);
      return { kind: kinds.find(kind), names: [name] };
    });
  }
  const empty = rest.includes('') || first === '';
  if (empty) throw usageFailure('a kind or name is empty');
  const named = first.split(',').flatMap((word) => {
    const inCategory = kinds.inCategory(word);
    return inCategory.length > 0 ? inCategory : [kinds.find(word)];
  });
  return [...new Set(named)].map((kind) => ({ kind, names: rest }));
}

/** One object: `KIND NAME` or `KIND/NAME`. */
export function oneTarget(words: readonly string[], kinds: KindLookup): { kind: ServedKind; name: string } {
  const [target, ...more] = targetsOf(words, kinds);
  const [name, ...names] = target?.names ?? [];
  if (target === undefined || name === undefined || more.length + names.length > 0)
    throw usageFailure(`one object is needed: KIND NAME or KIND/NAME`);
  return { kind: target.kind, name };
}

import type { BerthClient, KindPath } from '../client/client.js';
import { nearest } from '../model/nearest.js';
import { usageFailure } from './command-failure.js';

/** A kind as the server tells of it. */
export interface ServedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly isNamespaced: boolean;
  readonly verbs: readonly string[];
}

interface ResourceList {
  readonly groupVersion: string;
  readonly resources: readonly {
    readonly name: string;
    readonly singularName: string;
    readonly namespaced: boolean;
    readonly kind: string;
    readonly verbs: readonly string[];
    readonly shortNames?: readonly string[];
    readonly categories?: readonly string[];
  }[];
}

const paths = ['/apis/berth.dev/v1', '/api/v1'];

/** Finds kinds by what people type. What there is comes from the server, which costs less than loading every schema. */
export class KindLookup {
  constructor(readonly kinds: readonly ServedKind[]) {}

  /** All kinds; or those of the first groups, if they are enough for what is asked. */
  static async read(
    client: BerthClient,
    isEnough: (found: KindLookup) => boolean = () => false,
  ): Promise<KindLookup> {
    let found = new KindLookup([]);
    // One after the other: a second connection would cost more than the wait.
    for (const path of paths) {
      found = new KindLookup([...found.kinds, ...kindsIn((await client.read(path)) as ResourceList)]);
      if (isEnough(found)) break;
    }
    return found;
  }

  /** By plural, singular, short name or Kind, in any case, also with its group (workloads.berth.dev). */
  find(word: string): ServedKind {
    const found = this.lookUp(word);
    if (found !== undefined) return found;
    const near = nearest(word, this.#words());
    const hint = near === undefined ? 'berth api-resources lists them' : `did you mean ${near}?`;
    throw usageFailure(`there is no kind ${JSON.stringify(word)}; ${hint}`);
  }

  lookUp(word: string): ServedKind | undefined {
    const [name = '', ...group] = word.toLowerCase().split('.');
    return this.kinds.find(
      (kind) =>
        [kind.plural, kind.singular, kind.kind.toLowerCase(), ...kind.shortNames].includes(name) &&
        (group.length === 0 ||
          kind.group === group.join('.') ||
          `${kind.version}.${kind.group}` === group.join('.')),
    );
  }

  /** By what a manifest says of itself. */
  ofManifest(apiVersion: string, kind: string): ServedKind | undefined {
    return this.kinds.find((each) => each.kind === kind && apiVersionOf(each) === apiVersion);
  }

  /** The kinds of a category, such as `all`. */
  inCategory(word: string): readonly ServedKind[] {
    return this.kinds.filter((kind) => kind.categories.includes(word.toLowerCase()));
  }

  #words(): string[] {
    return this.kinds.flatMap((kind) => [kind.plural, kind.singular, ...kind.shortNames, ...kind.categories]);
  }
}

export const apiVersionOf = ({ group, version }: Pick<ServedKind, 'group' | 'version'>): string =>
  group === '' ? version : `${group}/${version}`;

/** Where objects of a kind are: those of the cluster have no namespace. */
export const pathIn = (kind: ServedKind, namespace: string | undefined): KindPath => ({
  group: kind.group,
  version: kind.version,
  plural: kind.plural,
  namespace: kind.isNamespaced ? namespace : undefined,
});

function kindsIn({ groupVersion, resources }: ResourceList): ServedKind[] {
  const [version = '', group = ''] = groupVersion.split('/').toReversed();
  return resources
    .filter(({ name }) => !name.includes('/'))
    .map((resource) => ({
      group,
      version,
      kind: resource.kind,
      plural: resource.name,
      singular: resource.singularName,
      shortNames: resource.shortNames ?? [],
      categories: resource.categories ?? [],
      isNamespaced: resource.namespaced,
      verbs: resource.verbs,
    }));
}

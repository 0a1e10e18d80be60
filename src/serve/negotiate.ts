import { BerthError } from '../model/errors.js';

/** The form in which a client wants an answer. */
export interface Wanted {
  readonly as: 'Object' | 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList';
  readonly encoding: 'json' | 'yaml';
}

interface MediaRange {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
}

function parseAccept(header: string): MediaRange[] {
  return header.split(',').map((part) => {
    const [type = '', ...parameters] = part.split(';').map((word) => word.trim());
    return {
      type: type.toLowerCase(),
      parameters: new Map(
        parameters.map((parameter) => parameter.split('=', 2).map((word) => word.trim()) as [string, string]),
      ),
    };
  });
}

const jsonTypes = new Set(['application/json', 'application/*', '*/*', '']);
const yamlTypes = new Set(['application/yaml', 'text/yaml']);

/** The first form the client names that we can give. */
export function negotiate(accept: string | undefined): Wanted {
  for (const { type, parameters } of parseAccept(accept ?? '*/*')) {
    const encoding = jsonTypes.has(type) ? 'json' : yamlTypes.has(type) ? 'yaml' : undefined;
    if (encoding === undefined) continue;
    const as = parameters.get('as');
    if (as === undefined) return { as: 'Object', encoding };
    const isMeta = parameters.get('g') === 'meta.k8s.io' && parameters.get('v') === 'v1';
    if (isMeta && (as === 'Table' || as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList')) {
      return { as, encoding };
    }
  }
  throw new BerthError(
    'NotAcceptable',
    `Accept ${JSON.stringify(accept)}: this server answers in application/json and application/yaml`,
  );
}

/** Whether the client takes discovery of all groups at once. Version 2 and its beta have the same form. */
export function wantsAggregatedDiscovery(accept: string | undefined): 'v2' | 'v2beta1' | undefined {
  for (const { type, parameters } of parseAccept(accept ?? '')) {
    if (type !== 'application/json' || parameters.get('g') !== 'apidiscovery.k8s.io') continue;
    const version = parameters.get('v');
    if (parameters.get('as') === 'APIGroupDiscoveryList' && (version === 'v2' || version === 'v2beta1'))
      return version;
  }
  return undefined;
}

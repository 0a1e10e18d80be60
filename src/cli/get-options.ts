import type { ClientOptions } from './session.js';

/** What `get` can be told. */
export interface GetOptions extends ClientOptions {
  readonly allNamespaces?: boolean;
  readonly selector?: string;
  readonly fieldSelector?: string;
  readonly watch?: boolean;
  readonly sortBy?: string;
  readonly output?: 'json' | 'yaml' | 'wide' | 'name';
}

export const selectedBy = (
  options: GetOptions,
): { labelSelector: string | undefined; fieldSelector: string | undefined } => ({
  labelSelector: options.selector,
  fieldSelector: options.fieldSelector,
});

import type { Template } from '../../model/parts/template.js';
import type { PullLine } from './container-engine.js';
import { taggedImage } from './tagged-image.js';

export type PullPolicy = NonNullable<NonNullable<Template['run']['container']>['pullPolicy']>;

/** A tag that moves is asked for each time, unless the template says otherwise; what cannot change is not. */
export function pullPolicyOf({ image, pullPolicy }: NonNullable<Template['run']['container']>): PullPolicy {
  if (pullPolicy !== undefined) return pullPolicy;
  return taggedImage(image).endsWith(':latest') ? 'Always' : 'IfNotPresent';
}

/** How far a pull is, from what the engine tells of each layer. */
export class PullProgress {
  readonly #layers = new Map<string, { current: number; total: number }>();
  #status = '';

  take({ id, status, progressDetail }: PullLine): void {
    if (status !== undefined) this.#status = status.trim();
    const { current, total } = progressDetail ?? {};
    if (id !== undefined && current !== undefined && total !== undefined && total > 0)
      this.#layers.set(id, { current, total });
  }

  toString(): string {
    let current = 0;
    let total = 0;
    for (const layer of this.#layers.values()) {
      current += layer.current;
      total += layer.total;
    }
    return total === 0 ? this.#status : `${megabytes(current)} of ${megabytes(total)} MB`;
  }
}

const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1);

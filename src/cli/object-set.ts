import { usageFailure } from './command-failure.js';
import type { PlacedManifest } from './placed-manifests.js';

/** By this label the objects that were applied together find each other again. */
export const setLabel = 'berth.dev/set';

const allowed = /^[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?$/;

export function checkSetName(name: string): void {
  if (!allowed.test(name)) {
    throw usageFailure(
      `--set ${JSON.stringify(name)}: up to 63 letters, digits, - _ and . are allowed, a letter or digit first and last`,
    );
  }
}

/** The manifest with the label of its set. */
export function inSet(manifest: PlacedManifest, set: string): PlacedManifest {
  const metadata = manifest.body['metadata'] as Readonly<Record<string, unknown>>;
  const labels = metadata['labels'] as Readonly<Record<string, unknown>> | undefined;
  return {
    ...manifest,
    body: { ...manifest.body, metadata: { ...metadata, labels: { ...labels, [setLabel]: set } } },
  };
}

import type { KindDefinition } from './kind.js';
import { checkLabelKey, checkLabels } from './labels.js';
import { checkName } from './names.js';
import type { FieldError, ObjectMeta } from './object.js';

/** All annotations of an object together, keys and values. What is larger belongs elsewhere. */
const annotationsLengthMax = 262_144;

/** What the schema cannot say of metadata. The name is complete by now: the server made one up if it was asked to. */
export function checkMetadata(
  { scope, nameForm }: Pick<KindDefinition, 'scope' | 'nameForm'>,
  metadata: Partial<ObjectMeta>,
): readonly FieldError[] {
  const { name, namespace, labels, annotations = {}, finalizers = [], ownerReferences = [] } = metadata;
  const errors: FieldError[] = checkName('metadata.name', name, nameForm);
  if (labels !== undefined) errors.push(...checkLabels('metadata.labels', labels));
  let annotationsLength = 0;
  for (const [key, value] of Object.entries(annotations)) {
    errors.push(...checkLabelKey('metadata.annotations', key));
    annotationsLength += key.length + value.length;
  }
  for (const [index, finalizer] of finalizers.entries()) {
    errors.push(...checkLabelKey(`metadata.finalizers[${index}]`, finalizer));
  }
  if (scope === 'Tenant') errors.push(...checkName('metadata.namespace', namespace, 'label'));
  else if (namespace !== undefined && namespace !== '') {
    const message = 'must be left out: objects of this kind belong to the cluster';
    errors.push({ path: 'metadata.namespace', value: namespace, reason: 'Forbidden', message });
  }
  if (annotationsLength > annotationsLengthMax) {
    const message = `must have at most ${annotationsLengthMax} characters together, not ${annotationsLength}`;
    errors.push({ path: 'metadata.annotations', reason: 'TooLong', message });
  }
  if (ownerReferences.filter((owner) => owner.controller === true).length > 1) {
    const message = 'at most one owner may have controller: true';
    errors.push({ path: 'metadata.ownerReferences', reason: 'Invalid', message });
  }
  return errors;
}

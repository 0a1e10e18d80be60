import type { Static } from 'typebox';
import { count, mapOf, quantity, record } from '../fields.js';

/** The resources that are counted. Devices are counted by class here; which ones is a claim's matter. */
export const amountFields = {
  cpu: quantity('Processor cores: "2", "500m" (half a core), 0.5.', 'cores'),
  memory: quantity('Memory in bytes: 4Gi, 512Mi.', 'bytes'),
  devices: mapOf('How many devices of each class: gpu: 1.', count('How many devices of this class.')),
};

const amounts = record('Amounts of the resources that are counted.', {}, amountFields);

export type Amounts = Static<typeof amounts>;

import { affinity, affinityInDomain } from './affinity.js';
import { antiAffinity, antiAffinityInDomain } from './anti-affinity.js';
import { devices } from './devices.js';
import { driver } from './driver.js';
import { fence } from './fence.js';
import type { DomainFilter, Filter, NodeFilter, ShapeFilter } from './filter.js';
import { freshness } from './freshness.js';
import { epoch, gate } from './gate.js';
import { ports } from './ports.js';
import { recoveryPool } from './recovery-pool.js';
import { region } from './region.js';
import { residency } from './residency.js';
import { resources } from './resources.js';
import { schedulable } from './schedulable.js';
import { selector } from './selector.js';
import { spread, spreadOverDomains } from './spread.js';
import { taints } from './taints.js';
import { tenancy } from './tenancy.js';
import { zone } from './zone.js';

/**
 * Every filter, in the order in which the authority checks the same rules, so that both name the same reason first;
 * then those that only the scheduler has. Quota is of the class as a whole (quota.ts).
 */
export const filters: readonly Filter[] = [
  epoch,
  gate,
  schedulable,
  tenancy,
  region,
  zone,
  residency,
  selector,
  taints,
  recoveryPool,
  fence,
  antiAffinity,
  antiAffinityInDomain,
  spread,
  spreadOverDomains,
  resources,
  devices,
  ports,
  driver,
  affinity,
  affinityInDomain,
  freshness,
];

export const shapeFilters = filters.filter((filter): filter is ShapeFilter => filter.level === 'shape');
/** Without freshness: a node's age is asked for only when it would be chosen. */
export const nodeFilters = filters.filter(
  (filter): filter is NodeFilter => filter.level === 'node' && filter !== freshness,
);
export const domainFilters = filters.filter((filter): filter is DomainFilter => filter.level === 'domain');

import type { Endpoints } from '../../model/kinds/endpoints.js';
import { ServiceRecords } from './service-records.js';

/**
 * The records of services, made once for each version of their Endpoints. Invariant: an object of the cache is never
 * changed, another version is another object; what nobody holds any more is forgotten here too.
 */
export class ServiceIndex {
  readonly #made = new WeakMap<Endpoints, ServiceRecords>();

  of(endpoints: Endpoints): ServiceRecords {
    let records = this.#made.get(endpoints);
    if (records === undefined) {
      records = new ServiceRecords(endpoints);
      this.#made.set(endpoints, records);
    }
    return records;
  }
}

import type { Env } from '../env/env.js';
import type { Versions } from '../model/versions.js';
import type { Codec } from '../objects/codec.js';
import { everythingRange } from '../objects/keys.js';
import { readPages } from '../objects/read-pages.js';
import type { Store } from '../store/contract.js';
import { audit, type Audited } from './audit.js';
import { AuditRecords } from './audit-records.js';

export interface AuditReport extends Audited {
  /** The resourceVersion at which all of it was so. */
  readonly revision: string;
}

export interface AuditParts {
  readonly store: Store;
  readonly codec: Codec;
  readonly env: Env;
  readonly versions: Versions;
}

/** Audits a store that others go on writing to, at one revision, read page by page. */
export async function auditStore({ store, codec, env, versions }: AuditParts): Promise<AuditReport> {
  let records = new AuditRecords();
  const revision = await readPages(store, everythingRange, env, {
    page: (entries) => {
      for (const { key, value, createRevision } of entries)
        if (AuditRecords.isWanted(key)) records.add(key, codec.decode(value), createRevision);
    },
    restart: () => {
      records = new AuditRecords();
    },
  });
  return { revision: String(versions.upTo(revision)), ...audit(records, versions) };
}

import { isDeepStrictEqual } from 'node:util';
import type { Tenant } from '../../model/kinds/tenant.js';
import type { TenantLedger } from '../../model/kinds/tenant-ledger.js';
import type { ObjectChange } from '../../model/ports.js';
import { type Acting, noKeys } from '../runtime/acting.js';
import { carryOut } from '../runtime/carry-out.js';
import { done, type Reconciler, type Requeue } from '../runtime/requeue.js';
import { needsGrant } from './needs-grant.js';

/** In a cell that is its own global plane: grants every tenant its whole limit (DESIGN §9). Keys are tenants. */
export class GrantReconciler implements Reconciler {
  constructor(private readonly acting: Acting) {}

  reconcile(key: string, signal: AbortSignal): Promise<Requeue> {
    const { objects, authority, actor } = this.acting;
    const tenant = objects.get<Tenant>('Tenant', undefined, key);
    const ledger = objects.get<TenantLedger>('TenantLedger', undefined, key);
    if (tenant === undefined || !needsGrant(tenant, ledger)) return Promise.resolve(done);
    const operation = `grant/${tenant.metadata.uid}/${tenant.metadata.generation}`;
    const send = () => authority.grant({ actor, tenant: key, operation });
    return carryOut(this.acting, 'grant', key, [send], signal);
  }
}

export const tenantKinds: ReadonlySet<string> = new Set(['Tenant', 'TenantLedger']);

/** Ledgers change with every placement; what is granted changes rarely. */
export function tenantKeysOf(change: ObjectChange): readonly string[] {
  const { type, kind } = change;
  if (!tenantKinds.has(kind)) return noKeys;
  const { object, before } = change;
  if (kind === 'Tenant') return [object.metadata.name];
  const grantOf = (ledger: typeof object | undefined): unknown =>
    (ledger as TenantLedger | undefined)?.status?.grant;
  const isNews = type !== 'MODIFIED' || !isDeepStrictEqual(grantOf(object), grantOf(before));
  return isNews ? [object.metadata.name] : noKeys;
}

import { join } from 'node:path';
import type { Env } from '../env/env.js';
import { isBerthError } from '../model/errors.js';
import { kinds } from '../model/kinds.js';
import { CellRecords } from '../objects/cell-records.js';
import { Api } from '../serve/api.js';
import { HttpServer } from '../serve/http-server.js';
import { AuditLog } from '../serve/identity/audit-log.js';
import { CertificateStore } from '../serve/identity/certificate-store.js';
import { type TokenRecord, Tokens } from '../serve/identity/tokens.js';
import { Metrics } from '../serve/metrics.js';
import { openApiDocuments } from '../serve/openapi-documents.js';
import { LmdbStore } from '../store/lmdb.js';
import { MeasuredStore } from '../store/measured.js';
import { openControlPlane } from './control-plane.js';
import { writeKubeconfig } from './kubeconfig.js';

export interface UpOptions {
  readonly dir: string;
  readonly port: number;
  readonly version: string;
  readonly historyMs: number;
  readonly eventsTtlMs: number;
  readonly env: Env;
  readonly onDefect: (error: unknown) => void;
}

export interface Running {
  readonly url: string;
  readonly kubeconfig: string;
  close(): Promise<void>;
}

const adminCertificateMs = 365 * 24 * 3_600_000;
const renewalLookMs = 3_600_000;
const tokenPruneMs = 10 * 60_000;

/** Everything in one process, on an embedded store in one directory. What was opened is closed again, also when the rest fails. */
export async function up(options: UpOptions): Promise<Running> {
  const opened: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    for (const closeOne of opened.splice(0).toReversed()) await closeOne();
  };
  try {
    return { ...(await open(options, opened)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function open(
  { dir, port, version, historyMs, eventsTtlMs, env, onDefect }: UpOptions,
  opened: (() => Promise<void>)[],
): Promise<Omit<Running, 'close'>> {
  const metrics = new Metrics();
  const embedded = await LmdbStore.open({
    dir: join(dir, 'store'),
    env,
    onBatch: (transactions) => metrics.batch(transactions),
  });
  opened.push(() => embedded.close());
  const store = new MeasuredStore(embedded, env, (outcome, durationMs) =>
    metrics.transaction(outcome, durationMs),
  );
  const controlPlane = await openControlPlane(store, env, { historyMs, eventsTtlMs });
  opened.push(() => controlPlane.close());
  const certificates = await CertificateStore.open({ dir, env, hosts: [] });
  const { cache, tenantKind } = controlPlane;
  const tokens = new Tokens({
    env,
    records: new CellRecords<TokenRecord>(store, 'tokens'),
    tenantUid: (name) =>
      Promise.resolve(cache.get({ kind: tenantKind.kind, namespace: undefined, name })?.object.metadata.uid),
  });
  const audit = new AuditLog({ env, dir: join(dir, 'audit') });
  opened.push(() => audit.close());
  metrics.watch({
    kinds: kinds.map(({ kind }) => kind),
    cacheRevision: () => cache.revision,
    objects: (kind) => cache.count(kind),
    watchers: () => cache.watchers(),
    audit: () => audit.health(),
  });
  const openapi = openApiDocuments(kinds, version);
  const api = new Api({ ...controlPlane, env, kinds, version, openapi, tokens, metrics });
  const parts = { api, env, certificates, tokens, audit, metrics, onDefect };
  const server = await HttpServer.start(parts, '127.0.0.1', port);
  opened.push(() => server.close());

  const url = `https://127.0.0.1:${server.port}`;
  const admin = await certificates.authority.issueClient({ kind: 'admin' }, adminCertificateMs);
  const kubeconfig = join(dir, 'kubeconfig');
  writeKubeconfig(kubeconfig, {
    server: url,
    ca: certificates.authority.certificatePem,
    certificate: admin.certificatePem,
    key: admin.privateKeyPem,
  });
  const stop = new AbortController();
  const nowAndThen = async (everyMs: number, work: () => Promise<unknown>): Promise<void> => {
    while (!stop.signal.aborted) {
      await env.sleep(everyMs, stop.signal).catch(() => undefined);
      // The store may be away: what was not done now is done the next time.
      if (!stop.signal.aborted)
        await work().catch((error: unknown) => isBerthError(error, 'StoreUnavailable') || onDefect(error));
    }
  };
  const loops = [
    nowAndThen(renewalLookMs, () => certificates.renewIfDue(env.clock.wall())),
    nowAndThen(tokenPruneMs, () => tokens.prune()),
  ];
  opened.push(async () => {
    stop.abort();
    await Promise.all(loops);
  });
  return { url, kubeconfig };
}

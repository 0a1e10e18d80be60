import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Env } from '../env/env.js';
import { kinds } from '../model/kinds.js';
import { CellRecords } from '../objects/cell-records.js';
import { Api } from '../serve/api.js';
import { HttpServer } from '../serve/http-server.js';
import { AuditLog } from '../serve/identity/audit-log.js';
import { CertificateStore } from '../serve/identity/certificate-store.js';
import { type TokenRecord, Tokens } from '../serve/identity/tokens.js';
import { Metrics } from '../serve/metrics.js';
import { openApiDocuments } from '../serve/openapi-documents.js';
import { lockDirectory } from '../store/directory-lock.js';
import type { EtcdTls } from '../store/etcd-endpoints.js';
import { openControlPlane } from './control-plane.js';
import { writeKubeconfig } from './kubeconfig.js';
import { httpsUrl, isEveryAddress, type ListenAddress } from './listen-address.js';
import { nowAndThen } from './now-and-then.js';
import { openStore } from './open-store.js';
import { sharedAuthority } from './shared-authority.js';
import type { StoreAddress } from './store-address.js';

export interface ServerOptions {
  readonly store: StoreAddress;
  readonly etcdTls?: EtcdTls;
  /** For certificates, the audit log and the kubeconfig: what belongs to this server and not to the cell. */
  readonly dir: string;
  readonly listen: ListenAddress;
  /** Names and addresses under which clients know this server, besides where it listens. */
  readonly hosts: readonly string[];
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

/** An API server over a store. What was opened is closed again, also when the rest fails. */
export async function server(options: ServerOptions): Promise<Running> {
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
  options: ServerOptions,
  opened: (() => Promise<void>)[],
): Promise<Omit<Running, 'close'>> {
  const { dir, listen, version, env, onDefect } = options;
  mkdirSync(dir, { recursive: true });
  // An lmdb store locks its own directory.
  if (options.store.kind !== 'lmdb' || resolve(options.store.dir) !== resolve(dir)) {
    const lock = lockDirectory(dir);
    opened.push(() => Promise.resolve(lock.release()));
  }
  const metrics = new Metrics();
  const store = await openStore(options.store, { env, metrics, etcdTls: options.etcdTls });
  opened.push(() => store.close());
  // An lmdb directory belongs to one process; an etcd cluster has other servers on it.
  const isShared = options.store.kind === 'etcd';
  const controlPlane = await openControlPlane(store, env, { ...options, isShared });
  opened.push(() => controlPlane.close());

  const names = [...(isEveryAddress(listen.host) ? [] : [listen.host]), ...options.hosts];
  const authority = isShared ? await sharedAuthority(store, env) : undefined;
  const certificates = await CertificateStore.open({
    dir,
    env,
    hosts: names,
    ...(authority === undefined ? {} : { authority }),
  });
  const { cache, tenantKind, freshness } = controlPlane;
  const tokens = new Tokens({
    env,
    records: new CellRecords<TokenRecord>(store, 'tokens'),
    tenantUid: async (name) => {
      await freshness.catchUp();
      return cache.get({ kind: tenantKind.kind, namespace: undefined, name })?.object.metadata.uid;
    },
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
  const http = await HttpServer.start(parts, listen.host, listen.port);
  opened.push(() => http.close());

  const url = httpsUrl(names[0] ?? '127.0.0.1', http.port);
  const admin = await certificates.authority.issueClient({ kind: 'admin' }, adminCertificateMs);
  const kubeconfig = join(dir, 'kubeconfig');
  writeKubeconfig(kubeconfig, {
    server: url,
    ca: certificates.authority.certificatePem,
    certificate: admin.certificatePem,
    key: admin.privateKeyPem,
  });
  const stop = new AbortController();
  const loop = { env, signal: stop.signal, onDefect };
  const loops = [
    nowAndThen(loop, renewalLookMs, () => certificates.renewIfDue(env.clock.wall())),
    nowAndThen(loop, tokenPruneMs, () => tokens.prune()),
  ];
  opened.push(async () => {
    stop.abort();
    await Promise.all(loops);
  });
  return { url, kubeconfig };
}

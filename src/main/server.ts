import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { authorityLease, ForwardingAuthority } from '../commit/forwarding-authority.js';
import { NodeHub } from '../commit/nodes/node-hub.js';
import type { Env } from '../env/env.js';
import { pinOf } from '../model/authority-pin.js';
import { type DecisionLimits, decisionLimitsDefault, type Decisions } from '../model/decisions.js';
import { fenceIn } from '../model/fence-problem.js';
import type { Endpoints } from '../model/kinds/endpoints.js';
import type { Lease } from '../model/kinds/lease.js';
import { kinds } from '../model/kinds.js';
import type { NodeStreams } from '../model/node-stream.js';
import type { Objects } from '../model/ports.js';
import { nodeLeaseName } from '../model/records.js';
import type { SessionDial } from '../model/sessions.js';
import type { Usage } from '../model/usage.js';
import { CachedObjects } from '../objects/cached-objects.js';
import { CachedRecords } from '../objects/cached-records.js';
import { applyChanges, CellRecords } from '../objects/cell-records.js';
import type { OtherServer } from '../objects/decisions/shared-decisions.js';
import type { ObjectCache } from '../objects/object-cache.js';
import type { NodeAgeMs } from '../propose/contract.js';
import { Explainer } from '../propose/explain/explainer.js';
import { PlacementExplainer } from '../propose/explain/placement-explainer.js';
import { Api } from '../serve/api.js';
import type { DnsSource } from '../serve/dns/answer-question.js';
import { DnsServer } from '../serve/dns/dns-server.js';
import { ServiceIndex } from '../serve/dns/service-index.js';
import { HttpServer } from '../serve/http-server.js';
import { AuditLog } from '../serve/identity/audit-log.js';
import { CertificateStore } from '../serve/identity/certificate-store.js';
import { type JoinedNode, Joins } from '../serve/identity/joins.js';
import { type TokenRecord, Tokens } from '../serve/identity/tokens.js';
import { JoinResource } from '../serve/join-resource.js';
import { Metrics } from '../serve/metrics.js';
import { NodeWire } from '../serve/node-wire.js';
import { openApiDocuments } from '../serve/openapi-documents.js';
import { Readiness } from '../serve/readiness.js';
import { answerMs, ConnectedSessions } from '../serve/sessions/connected-sessions.js';
import { ReplicaSessions } from '../serve/sessions/replica-sessions.js';
import { Upgrades } from '../serve/upgrades.js';
import { lockDirectory } from '../store/directory-lock.js';
import type { EtcdTls } from '../store/etcd-endpoints.js';
import { boundedLog } from './bounded-log.js';
import { CellSessions } from './cell-sessions.js';
import { CellUsage } from './cell-usage.js';
import { closeDirectory, serverEntries } from './close-directory.js';
import { openControlPlane } from './control-plane.js';
import { keptAdmin } from './kept-admin.js';
import { nameServers, writeKubeconfig } from './kubeconfig.js';
import { httpsUrl, isEveryAddress, type ListenAddress } from './listen-address.js';
import { loadPlugin } from './load-plugin.js';
import { callbacksFor, type Log } from './log.js';
import { nowAndThen } from './now-and-then.js';
import { openStore } from './open-store.js';
import { machineName } from './own-address.js';
import { openDecisionLog, shareDecisions } from './open-decisions.js';
import { PeerClients } from './peer-clients.js';
import { prepareKinds } from './prepare-kinds.js';
import type { RepairOptions } from './repair-options.js';
import { leaseSecondsAlone, runControllers } from './run-controllers.js';
import { runSchedulers, type SchedulingOptions } from './run-schedulers.js';
import { sharedAuthority } from './shared-authority.js';
import type { StoreAddress } from './store-address.js';

export interface ServerOptions {
  readonly store: StoreAddress;
  readonly etcdTls?: EtcdTls;
  /** For certificates, the audit log and the kubeconfig: what belongs to this server and not to the cell. */
  readonly dir: string;
  /** Jobs have their files below the directory: others may pass through it. */
  readonly hasJobs?: boolean;
  readonly listen: ListenAddress;
  /** Names and addresses under which clients know this server, besides where it listens. */
  readonly hosts: readonly string[];
  /** Where other servers of the cell reach this one, if not under the first of these names where it listens. */
  readonly advertise?: string;
  readonly version: string;
  readonly historyMs: number;
  readonly eventsTtlMs: number;
  readonly decisionLimits?: DecisionLimits;
  /** Where questions about services are answered (DNS). Undefined: nowhere. */
  readonly dns?: ListenAddress;
  /** Undefined: this server does not schedule. */
  readonly scheduling: SchedulingOptions | undefined;
  readonly repair?: RepairOptions;
  readonly env: Env;
  readonly log: Log;
}

export interface Running {
  readonly url: string;
  readonly kubeconfig: string;
  /** For nodes in this process. */
  readonly streams: NodeStreams;
  readonly sessions: SessionDial;
  readonly objects: Objects;
  close(): Promise<void>;
}

const adminCertificateMs = 365 * 24 * 3_600_000;
const renewalLookMs = 3_600_000;
const tokenPruneMs = 10 * 60_000;
const leaseSecondsShared = 15;
const wayMs = 2_000;
// How soon the kubeconfig of one server names another that was started beside it.
const serversLookMs = 60_000;

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
  const { dir, listen, version, env, log } = options;
  const { onProblem, onDefect } = callbacksFor(boundedLog(log, env), 'server');
  closeDirectory(dir, options.hasJobs === true ? serverEntries : undefined);
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
  const controlPlane = await openControlPlane(store, env, {
    ...options,
    isShared,
    onTransaction: (members, outcome) => metrics.control.transaction(members, outcome),
  });
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
  const tenantUid = async (name: string): Promise<string | undefined> => {
    await freshness.catchUp();
    return cache.get({ kind: tenantKind.kind, namespace: undefined, name })?.object.metadata.uid;
  };
  const tokenRecords = new CellRecords<TokenRecord>(store, 'tokens');
  const joins = new Joins({
    tokens: tokenRecords,
    joined: new CellRecords<JoinedNode>(store, 'joined'),
    apply: (changes) => applyChanges(store, changes),
    hasNode: async (name) => {
      await freshness.catchUp();
      return cache.get({ kind: 'Node', namespace: undefined, name }) !== undefined;
    },
    ...{ authority: certificates.authority, machine: machineName(), env },
  });
  const tokens = new Tokens({ env, records: tokenRecords, tenantUid });
  const audit = new AuditLog({ env, dir: join(dir, 'audit') });
  opened.push(() => audit.close());
  metrics.watch({
    kinds: kinds.map(({ kind }) => kind),
    cacheRevision: () => cache.revision,
    objects: (kind) => cache.count(kind),
    watchers: () => cache.watchers(),
    audit: () => audit.health(),
  });
  const readiness = new Readiness({ freshness, env, onProblem, onDefect });
  metrics.watchReadiness(() => readiness.notReady() === undefined);
  const limits = options.decisionLimits ?? decisionLimitsDefault;
  const kept = await openDecisionLog({ dir, limits, env, onProblem });
  opened.push(() => kept.close());
  const decisionLog = kept.log;
  metrics.watchDecisions(() => decisionLog.counters);
  // Other servers are asked once this one can be reached itself, and ages are known once something observes nodes.
  let decisions: Decisions = decisionLog;
  let ages: NodeAgeMs = () => undefined;
  const plugins = await Promise.all((options.scheduling?.plugins ?? []).map(loadPlugin));
  // The same for sessions with replicas: the streams of nodes are with this server or another.
  let others: () => Promise<readonly OtherServer[]> = () => Promise.resolve([]);
  const peers = new PeerClients({ env, authority: certificates.authority });
  opened.push(() => peers.close());
  // The other server waits for the node, and answers after that.
  const sessionPeers = new PeerClients({
    ...{ env, authority: certificates.authority, timeoutMs: answerMs + wayMs },
  });
  opened.push(() => sessionPeers.close());
  const connected = new ConnectedSessions({
    env,
    tell: (node, id, request) => hub.attach(node, id, request),
    lastRenewedAt: (node) => leaseIn(cache, nodeLeaseName(node))?.spec.renewedAt,
  });
  const sessions = new CellSessions({ here: connected, others: () => others(), peers: sessionPeers });
  const usageHere: Usage = { list: (tenant) => Promise.resolve(hub.usage(tenant)) };
  const openapi = openApiDocuments(kinds, version);
  const objects = new CachedObjects({ ...controlPlane, manager: 'berth-controllers' });
  const replicas = new ReplicaSessions({ objects, sessions });
  const api = new Api({
    ...controlPlane,
    ...{ env, kinds, version, openapi, tokens, metrics },
    authorityPin: pinOf(certificates.authority.certificatePem),
    joining: new JoinResource({ joins, authority: certificates.authority.certificatePem }),
    authority: {
      authority: controlPlane.authority,
      audit: controlPlane.audit,
      fence: { now: () => fenceIn(new CachedRecords(cache)), env },
      attestations: { objects, env },
      onReceived: (outcome) => metrics.control.operation('received', outcome),
    },
    decisions: { all: () => decisions, here: decisionLog },
    sessions: replicas,
    usage: {
      here: usageHere,
      all: new CellUsage({ here: usageHere, others: () => others(), peers }),
    },
    endpoints: () => objects.list<Endpoints>('Endpoints'),
    explain: new Explainer({
      ...{ objects, env },
      decisions: () => decisions,
      placement: new PlacementExplainer({
        ...{ records: new CachedRecords(cache), env, plugins },
        ages: (node) => ages(node),
      }),
      server: () => ({ name: decisionLog.server, notReady: readiness.notReady() }),
    }),
  });
  const holder = `${hostname().toLowerCase()}-${env.uuid().slice(0, 8)}`;
  const forwarding = new ForwardingAuthority({
    ...{ local: controlPlane.authority, holder, env },
    leader: () => leaderIn(cache),
    send: async (to, operation, input, signal) =>
      (await peers.at(to)).ask(`/apis/authority.berth.dev/v1/operations/${operation}`, input, { signal }),
    onOperation: (route, outcome) => metrics.control.operation(route, outcome),
  });
  const hub = new NodeHub({
    ...{ objects, authority: forwarding, env },
    nodes: () => cache.count('Node'),
  });
  const nodeStop = new AbortController();
  hub.start(nodeStop.signal);
  opened.push(() => Promise.resolve(nodeStop.abort()));
  const nodes = new NodeWire({
    ...{ streams: hub, validator: controlPlane.validator, env, onDefect },
    placeOf: (node) => joins.placeOf(node),
  });
  metrics.watchNodes(() => ({ ...hub.counters, connections: nodes.connections }));
  const upgrades = new Upgrades({ nodes, connected, replicas, audit, env });
  const nodeKeyHash = (node: string): Promise<string | undefined> => joins.keyHashOf(node);
  const known = { certificates, tokens, tenantUid, nodeKeyHash };
  const parts = { api, env, ...known, audit, metrics, upgrades, readiness, onDefect };
  const http = await HttpServer.start(parts, listen.host, listen.port);
  opened.push(() => http.close());

  const url = httpsUrl(names[0] ?? '127.0.0.1', http.port);
  const kubeconfig = join(dir, 'kubeconfig');
  const admin =
    (await keptAdmin(kubeconfig, { authority: certificates.authority, env })) ??
    (await certificates.authority.issueClient({ kind: 'admin' }, adminCertificateMs));
  writeKubeconfig(kubeconfig, {
    server: url,
    ca: certificates.authority.certificatePem,
    certificate: admin.certificatePem,
    key: admin.privateKeyPem,
  });
  if (options.dns !== undefined) {
    const services = new ServiceIndex();
    const source: DnsSource = {
      hasTenant: (tenant) => objects.get('Tenant', undefined, tenant) !== undefined,
      service: (tenant, workload) => {
        const found = objects.get<Endpoints>('Endpoints', tenant, workload);
        return found && services.of(found);
      },
    };
    const dns = await DnsServer.start({ source, env, onDefect }, options.dns.host, options.dns.port);
    opened.push(() => dns.close());
    const { host: address } = options.dns;
    log({
      ...{ level: 'info', component: 'dns', message: 'answers for *.berth over UDP and TCP' },
      fields: { address, port: dns.port },
    });
  }
  const stop = new AbortController();
  const loop = { env, signal: stop.signal, onDefect };
  const loops = [
    nowAndThen(loop, renewalLookMs, () => certificates.renewIfDue(env.clock.wall())),
    nowAndThen(loop, tokenPruneMs, () => tokens.prune()),
    readiness.run(stop.signal),
  ];
  opened.push(async () => {
    stop.abort();
    await Promise.all(loops);
  });
  // A server that listens everywhere and was given no name does not know where others find it.
  const address = options.advertise ?? (names[0] === undefined ? undefined : url);
  if (isShared) {
    const shared = await shareDecisions({ log: decisionLog, store, peers, address, limits, env, onDefect });
    opened.push(() => shared.close());
    ({ decisions, others } = shared);
    const nameOthers = async (): Promise<void> => {
      const addresses = (await shared.others()).flatMap((other) => other.address ?? []);
      if (addresses.length > 0) nameServers(kubeconfig, url, addresses);
    };
    await nameOthers();
    loops.push(nowAndThen(loop, serversLookMs, nameOthers));
  }
  const controllers = runControllers({
    ...{ controlPlane, objects, env, holder, log, metrics: metrics.control },
    authority: forwarding,
    address,
    isAlone: !isShared,
    ...(options.repair !== undefined && { repair: options.repair }),
  });
  opened.push(() => controllers.close());
  ages = (node) => controllers.ageMs(node);
  if (options.scheduling !== undefined) {
    const schedulers = await runSchedulers({
      ...options.scheduling,
      ...{ controlPlane, decisions, env, holder, address, log, metrics: metrics.scheduler },
      authority: forwarding,
      isAlone: !isShared,
      leaseSeconds: isShared ? leaseSecondsShared : leaseSecondsAlone,
      ages,
    });
    opened.push(() => schedulers.close());
  }
  const preparing = prepareKinds(controlPlane.validator, env, stop.signal);
  opened.push(async () => {
    stop.abort();
    await preparing;
  });
  log({
    ...{ level: 'info', component: 'server', message: 'listens' },
    fields: {
      url,
      kubeconfig,
      holder,
      version,
      node: process.versions.node,
      pid: process.pid,
      store: options.store.kind,
      dir,
    },
  });
  return { url, kubeconfig, streams: hub, sessions: connected, objects };
}

/** Who holds the lease of the authority, as the cache shows it. */
function leaderIn(cache: ObjectCache): { holder: string; address: string | undefined } | undefined {
  const lease = leaseIn(cache, authorityLease);
  return lease === undefined ? undefined : { holder: lease.spec.holder, address: lease.spec.address };
}

const leaseIn = (cache: ObjectCache, name: string): Lease | undefined =>
  cache.get({ kind: 'Lease', namespace: undefined, name })?.object as Lease | undefined;

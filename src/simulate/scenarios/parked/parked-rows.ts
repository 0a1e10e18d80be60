import type { ChangeCuring, ParkReason } from '../../../propose/queue/cures.js';
import type { OtherWake } from '../../wake-defects.js';
import { gangCured, gangHeard, gangHeld, held } from './gang-rows.js';
import * as near from './neighbour-rows.js';
import * as nodes from './node-rows.js';
import type { Rows } from './parked-row.js';
import * as plugin from './plugin-rows.js';
import { grantRows, quotaRows } from './quota-rows.js';
import { boundElsewhere, cores, devices, easedRows, holdLost, ports, roomRows } from './room-rows.js';
import { cameAgain, changed, misfitRows, misfits, offer, set } from './shape-rows.js';

/** For every reason under which a replica can be parked, and every change that cures it, how that comes about. */
type CureRows = {
  readonly [R in ParkReason]: { readonly [C in ChangeCuring<R>]: Rows };
};

const full = roomRows(cores);
const tainted = misfitRows(misfits.tainted, 'the taint is removed', set({ taints: [] }));

/** A reason or a change that is added to the table of cures does not compile until it has a row here. */
export const cureRows: CureRows = {
  NodeFull: {
    ...full,
    NodeFreed: [...full.NodeFreed, boundElsewhere, holdLost],
    VictimsEased: [...full.VictimsEased, ...easedRows, ...nodes.notComing],
  },
  DeviceTaken: roomRows(devices),
  PortTaken: roomRows(ports),
  QuotaExceeded: { TenantFreed: quotaRows },
  GrantExhausted: { TenantFreed: grantRows },
  RegionNotAllowed: misfitRows(
    misfits.region,
    'the node is moved to the region',
    set({ region: 'eu-central' }),
  ),
  ZoneNotAllowed: misfitRows(misfits.zone, 'the node is moved to the zone', set({ zone: 'a' })),
  ResidencyNotAllowed: {
    ...misfitRows(
      misfits.residency,
      'the node is moved to a region of the law',
      set({ region: 'eu-central' }),
    ),
    TenantChanged: [
      changed(misfits.residency, 'the residency of its tenant is changed', (one) =>
        one.set('Tenant', undefined, 'shop', { residency: ['EU', 'US'] }),
      ),
    ],
    RegionChanged: [
      changed(misfits.residency, 'the region is under another law', (one) =>
        one.set('Region', undefined, 'us-east', { jurisdiction: 'EU' }),
      ),
      changed(misfits.lawless, 'the region is created', (one) => one.createRegion('nowhere', 'EU')),
    ],
  },
  TenancyNotAllowed: misfitRows(misfits.tenancy, 'the node is opened to all tenants', set({ tenants: [] })),
  SelectorMismatch: misfitRows(misfits.selector, 'the node is labelled', (one) =>
    one.label('n1', { pool: 'main' }),
  ),
  Tainted: {
    NodeCame: [...tainted.NodeCame, cameAgain],
    NodeChanged: [
      ...tainted.NodeChanged,
      changed(misfits.unschedulable, 'the node is schedulable again', set({ unschedulable: false })),
      changed(misfits.draining, 'the drain is cancelled', set({ drain: undefined })),
    ],
  },
  FenceUnsupported: {
    ...misfitRows(misfits.fence, 'the agent of the node can keep a fence', offer({ isUnfenced: false })),
    WorkloadChanged: [
      changed(misfits.fence, 'its workload does not rely on a fence any more', (one) =>
        one.set('Workload', 'shop', 'waits', { onNodeLost: { action: 'Wait' } }),
      ),
    ],
  },
  PoolReserved: {
    ...misfitRows(misfits.pool, 'the node is not kept for recovery any more', (one) => one.label('n1', {})),
    PriorityChanged: [
      changed(misfits.pool, 'its priority class may use recovery pools', (one) =>
        one.set('PriorityClass', undefined, 'usual', { recoveryPools: true }),
      ),
    ],
  },
  DriverMissing: misfitRows(
    misfits.driver,
    'the agent of the node has the driver',
    offer({ drivers: ['process'] }),
  ),
  AntiAffinity: {
    NodeCame: near.apartCame,
    NodeChanged: near.apartMoved,
    NeighboursChanged: near.apartLeft,
    RevisionChanged: near.apartForgotten,
  },
  AffinityUnmet: {
    NodeChanged: near.lonelyMoved,
    NeighboursChanged: near.lonelyNeighbourCame,
  },
  SpreadViolated: {
    NodeCame: near.unevenCame,
    NodeChanged: near.unevenMoved,
    NeighboursChanged: near.unevenLeft,
    TenantChanged: near.unevenTenant,
    RegionChanged: near.unevenRegion,
  },
  PluginRefused: {
    NodeCame: plugin.pluginCame,
    NodeChanged: plugin.pluginChanged,
    NodeFreed: plugin.pluginFreed,
    TimePassed: plugin.pluginFilled,
  },
  GateClosed: { NodeCame: nodes.gateCame, NodeOpened: nodes.gateOpened },
  NodeChanged: { NodeCame: nodes.epochCame, NodeOpened: nodes.epochOpened },
  NodeStale: { NodeCame: nodes.silentCame, TimePassed: [...nodes.heardAgain, gangHeard] },
  NoNode: { NodeCame: nodes.firstCame },
  ReplicaChanged: { RevisionChanged: nodes.revisionBack },
};

/** The same for what waits outside the queue: gangs, and replicas that hold. */
export const otherRows: Readonly<Record<OtherWake, Rows>> = {
  'gang.cured': gangCured,
  'gang.hold': gangHeld,
  hold: held,
};

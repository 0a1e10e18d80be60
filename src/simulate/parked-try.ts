import { writeFileSync } from 'node:fs';
import { runSeed } from './run-seed.js';
import { parkedScenario, type PlacedRow } from './scenarios/parked/parked.js';
import * as room from './scenarios/parked/room-rows.js';
import * as shape from './scenarios/parked/shape-rows.js';
import * as near from './scenarios/parked/neighbour-rows.js';
import * as nodes from './scenarios/parked/node-rows.js';
import { grantRows, quotaRows } from './scenarios/parked/quota-rows.js';
import { gangRows } from './scenarios/parked/gang-rows.js';
import type { Row } from './scenarios/parked/parked-row.js';
import type { ParkReason } from './../propose/queue/cures.js';

const rows: PlacedRow[] = [];
const add = (reason: ParkReason, change: string, ...more: readonly Row[]) => { for (const row of more) rows.push({ reason, change, row }); };
for (const [reason, short] of [['NodeFull', room.cores], ['PortTaken', room.ports], ['DeviceTaken', room.devices]] as const) {
  add(reason, 'NodeCame', room.came(short));
  add(reason, 'NodeFreed', room.freed(short));
  add(reason, 'VictimsEased', room.limitRaised(short));
  add(reason, 'PriorityChanged', room.mayPreempt(short));
  add(reason, 'TenantChanged', room.guaranteeRaised(short));
  add(reason, 'GuaranteeFreed', room.guaranteeFreed(short));
}
add('NodeFull', 'VictimsEased', ...room.easedRows);
add('NodeFull', 'moved', room.boundElsewhere);
add('QuotaExceeded', 'TenantFreed', ...quotaRows);
add('GrantExhausted', 'TenantFreed', ...grantRows);
const m = shape.misfits;
const { came, changed, set, offer } = shape;
add('RegionNotAllowed', 'NodeCame', came(m.region)); add('RegionNotAllowed', 'NodeChanged', changed(m.region, 'moved', set({ region: 'eu-central' })));
add('ZoneNotAllowed', 'NodeCame', came(m.zone)); add('ZoneNotAllowed', 'NodeChanged', changed(m.zone, 'moved', set({ zone: 'a' })));
add('ResidencyNotAllowed', 'NodeCame', came(m.residency)); add('ResidencyNotAllowed', 'NodeChanged', changed(m.residency, 'moved', set({ region: 'eu-central' })));
add('ResidencyNotAllowed', 'TenantChanged', changed(m.residency, 'tenant', (o) => o.set('Tenant', undefined, 'shop', { residency: ['EU', 'US'] })));
add('ResidencyNotAllowed', 'RegionChanged', changed(m.residency, 'juris', (o) => o.set('Region', undefined, 'us-east', { jurisdiction: 'EU' })));
add('TenancyNotAllowed', 'NodeCame', came(m.tenancy)); add('TenancyNotAllowed', 'NodeChanged', changed(m.tenancy, 'tenants', set({ tenants: [] })));
add('SelectorMismatch', 'NodeCame', came(m.selector)); add('SelectorMismatch', 'NodeChanged', changed(m.selector, 'label', (o) => o.label('n1', { pool: 'main' })));
add('Tainted', 'NodeCame', came(m.tainted)); add('Tainted', 'NodeChanged', changed(m.tainted, 'taint', set({ taints: [] })), changed(m.unschedulable, 'uns', set({ unschedulable: false })), changed(m.draining, 'drain', set({ drain: undefined })));
add('FenceUnsupported', 'NodeCame', came(m.fence)); add('FenceUnsupported', 'NodeChanged', changed(m.fence, 'agent', offer({ isUnfenced: false })));
add('FenceUnsupported', 'WorkloadChanged', changed(m.fence, 'wl', (o) => o.set('Workload', 'shop', 'waits', { onNodeLost: { action: 'Wait' } })));
add('PoolReserved', 'NodeCame', came(m.pool)); add('PoolReserved', 'NodeChanged', changed(m.pool, 'label', (o) => o.label('n1', {})));
add('PoolReserved', 'PriorityChanged', changed(m.pool, 'pc', (o) => o.set('PriorityClass', undefined, 'usual', { recoveryPools: true })));
add('DriverMissing', 'NodeCame', came(m.driver)); add('DriverMissing', 'NodeChanged', changed(m.driver, 'agent', offer({ drivers: ['process'] })));
add('AntiAffinity', 'NodeCame', near.apartCame); add('AntiAffinity', 'NodeChanged', near.apartMoved); add('AntiAffinity', 'NeighboursChanged', ...near.apartLeft); add('AntiAffinity', 'RevisionChanged', near.apartForgotten);
add('AffinityUnmet', 'NodeCame', near.lonelyCame); add('AffinityUnmet', 'NodeChanged', near.lonelyMoved); add('AffinityUnmet', 'NeighboursChanged', ...near.lonelyNeighbourCame);
add('SpreadViolated', 'NodeCame', near.unevenCame); add('SpreadViolated', 'NodeChanged', near.unevenMoved); add('SpreadViolated', 'NeighboursChanged', near.unevenLeft); add('SpreadViolated', 'RegionChanged', near.unevenRegion);
add('GateClosed', 'NodeOpened', nodes.gateOpened); add('GateClosed', 'NodeCame', nodes.gateCame);
add('NodeChanged', 'NodeOpened', nodes.epochOpened); add('NodeChanged', 'NodeCame', nodes.epochCame);
add('NodeStale', 'TimePassed', nodes.heardAgain, nodes.victimHeardAgain); add('NodeStale', 'NodeCame', nodes.silentCame);
add('NoNode', 'NodeCame', nodes.firstCame);
add('ReplicaChanged', 'RevisionChanged', nodes.revisionBack);
add('GangIncomplete', 'gang', ...gangRows);

const only = process.env['ROW'];
const text = process.env['ONLY'];
const [from, to] = (process.env['TIMES'] ?? '0,1').split(',').map(Number) as [number, number];
for (let seed = rows.length * from; seed < rows.length * to; seed++) {
  const placed = rows[seed % rows.length]!;
  const { reason, change, row } = placed;
  if (only !== undefined && seed % rows.length !== Number(only)) continue;
  if (text !== undefined && !`${reason}.${change}`.startsWith(text)) continue;
  // One row in its own scenario, with the seed's timing.
  const s = parkedScenario('try', 'x', [placed]);
  const t = process.cpuUsage().user;
  const lines: string[] = [];
  const r = await runSeed(s, { seed: Math.floor(seed / rows.length), isSafetyOnly: process.env['SAFE'] !== undefined, ...(process.env['TRACE'] && { trace: (l: string) => void lines.push(l) }) });
  console.log(seed % rows.length, Math.floor(seed / rows.length), reason, change, row.cure, Math.round((process.cpuUsage().user - t) / 1000), 'ms', r.virtualMs, r.violations.map((v) => v.rule + ' ' + v.message).join('\n   '));
  if (process.env['TRACE']) writeFileSync(process.env['TRACE'], lines.join('\n'));
}

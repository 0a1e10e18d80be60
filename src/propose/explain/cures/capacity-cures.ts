import { type Amount, amountOf, amountsOf, countOf, ownValue } from '../../../model/amount.js';
import { amountsAsked } from '../../../model/asked.js';
import type { NodeAccount } from '../../../model/records.js';
import { amountWhere, type CureContext, isAllBy, shownAmounts, type TriedCure } from './tried-cure.js';

/** Has a node offer exactly what is used there and what a replica asks for; those that lack least first. */
export function capacityCures({ cell, cls, refused }: CureContext): TriedCure[] {
  const asked = amountOf(amountsAsked(cls.spec.template.resources));
  return refused
    .filter((one) => isAllBy(one, ['resources', 'devices']))
    .flatMap(({ node }) => {
      const account = cell.nodes.accounts[cell.nodes.rowOf(node) ?? -1];
      const offered = account === undefined ? undefined : offerNeeded(account, asked);
      return account === undefined || offered === undefined ? [] : [{ node, offered, account }];
    })
    .map(({ node, offered, account }) => {
      const lacking =
        amountWhere(offered, (resource, needed) => needed - (countOf(account.allocatable, resource) ?? 0)) ??
        {};
      const missing = shownAmounts(amountsOf(lacking));
      const words = `free ${missing} on node ${node}, or have it offer ${shownAmounts(amountsOf(offered))}`;
      const share = Math.max(
        ...[...Object.entries(lacking)].map(([name, count]) =>
          typeof count === 'number' ? count / Math.max(1, countOf(asked, resourceOf(name)) ?? 1) : 1,
        ),
      );
      return { node, words, offered, share };
    })
    .toSorted((a, b) => a.share - b.share || (a.node < b.node ? -1 : 1))
    .map(({ node, words, offered }) => ({
      node,
      parts: [{ words }],
      cure: {
        words,
        kind: 'Node',
        name: node,
        change: { type: 'Register', allocatable: amountsOf(offered) },
      },
    }));
}

const resourceOf = (field: string): string =>
  field === 'cpuMilli' ? 'cpu' : field === 'memoryBytes' ? 'memory' : field;

/** Devices are counted twice, as an amount and as ids that nobody claims; both must be enough. */
function offerNeeded(account: NodeAccount, asked: Amount): Amount | undefined {
  return amountWhere(asked, (resource, count) => {
    const used = countOf(account.used, resource) ?? 0;
    const most = countOf(account.allocatable, resource) ?? 0;
    if (!resource.startsWith('device/')) return used + count > most ? used + count : undefined;
    const ids = ownValue(account.devices, resource.slice('device/'.length)) ?? [];
    const claimed = ids.filter((id) => ownValue(account.claims.devices, id) !== undefined).length;
    const needed = Math.max(used, claimed) + count;
    return needed > Math.min(most, ids.length) ? needed : undefined;
  });
}

/** A node with exactly what a replica asks for, in each place that there is. */
export function newNodeCures({ cell, cls }: CureContext): TriedCure[] {
  const allocatable = amountsOf(amountOf(amountsAsked(cls.spec.template.resources)));
  const labels = cls.spec.placement?.nodeSelector ?? {};
  const places = new Map<string, { readonly region: string; readonly zone: string }>();
  for (const place of cell.nodes.domains) places.set(`${place.region}/${place.zone}`, place);
  for (const [region, { zones = [] }] of cell.regions)
    for (const zone of zones) places.set(`${region}/${zone}`, { region, zone });
  if (places.size === 0) places.set('local/local', { region: 'local', zone: 'local' });
  let name = 'new-node';
  for (let number = 2; cell.nodes.rowOf(name) !== undefined; number += 1) name = `new-node-${number}`;
  return [...places]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([place, { region, zone }]) => {
      const words = `add a node with ${shownAmounts(allocatable)} in ${place}`;
      return {
        node: name,
        parts: [{ words }],
        cure: {
          ...{ words, kind: 'Node', name },
          change: { type: 'Create', region, zone, labels, allocatable },
        },
      } as const;
    });
}

import { node, service } from '../../world/small-cell.js';
import { cell, type Rows, waits } from './parked-row.js';

/** The limit of the tenant keeps it out. */
export const quotaRows: Rows = [
  {
    cure: 'the limit of its tenant is raised',
    nodes: [node('n1', '4')],
    wishes: cell({ limit: { cpu: '1' } }),
    waits: waits({ cpu: '2' }),
    act: (one) => one.set('Tenant', undefined, 'shop', { limit: { cpu: '2' } }),
  },
  {
    cure: 'another replica of its tenant ends',
    nodes: [node('n1', '4')],
    wishes: [...cell({ limit: { cpu: '2' } }), service('shop', 'own', 1, { cpu: '1' })],
    up: { own: 1 },
    waits: waits({ cpu: '2' }),
    act: (one) => one.set('Workload', 'shop', 'own', { replicas: 0 }),
  },
  {
    cure: 'its tenant is not limited any more',
    nodes: [node('n1', '4')],
    wishes: cell({ limit: { replicas: 0 } }),
    waits: waits({ cpu: '2' }),
    act: (one) => one.set('Tenant', undefined, 'shop', { limit: undefined }),
  },
];

/** The tenant has no grant yet, because the writes of its grant are lost. */
export const grantRows: Rows = [
  {
    cure: 'its tenant is granted something',
    nodes: [node('n1', '4')],
    wishes: cell(),
    waits: waits({ cpu: '2' }),
    begin: ({ world }) => {
      world.direct = ({ writes }) =>
        writes.some(({ key }) => key === '/a/tenant/shop') ? 'store.requestLost' : undefined;
    },
    act: ({ world }) => {
      world.direct = undefined;
    },
  },
];

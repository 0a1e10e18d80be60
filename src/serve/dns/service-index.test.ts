import { expect, it } from 'vitest';
import { endpointsOf } from './dns.fixture.js';
import { ServiceIndex } from './service-index.js';

it('the records of a service are sorted out once for each version of its Endpoints', () => {
  const index = new ServiceIndex();
  const address = (last: number) => [{ replica: `api-0-${last}`, node: 'n1', address: `10.0.0.${last}` }];
  const [first, second] = [endpointsOf('api', address(1)), endpointsOf('api', address(2))];
  const records = index.of(first);
  expect(index.of(first)).toBe(records);
  expect(index.of(second).service.A.addresses).toEqual(address(2));
});

import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { realEnv } from '../../env/real.js';
import { DnsServer } from './dns-server.js';
import { queryBytes, serviceOf } from './dns.fixture.js';

const service = serviceOf('api', [{ replica: 'api-0-1', node: 'n1', address: '10.0.0.1' }]);
let server: DnsServer | undefined;
afterEach(() => server?.close());

it('questions that are sent in one go over TCP are answered in order, and others have their turn after each', async () => {
  const env = realEnv();
  const defects: unknown[] = [];
  const answeredAtYield: number[] = [];
  let asked = 0;
  const source = {
    hasTenant: () => true,
    service: () => {
      asked += 1;
      return service;
    },
  };
  const counting = {
    ...env,
    yield: () => {
      answeredAtYield.push(asked);
      return env.yield();
    },
  };
  server = await DnsServer.start(
    { source, env: counting, onDefect: (error) => defects.push(error) },
    ...(['127.0.0.1', 0] as const),
  );
  const socket = connect(server.port, '127.0.0.1');
  await once(socket, 'connect');
  const framed = (id: number): Buffer => {
    const query = queryBytes('api.shop.berth', 1, { id });
    return Buffer.concat([Buffer.from([0, query.length]), query]);
  };
  const ids = Array.from({ length: 50 }, (_, index) => index + 1);
  socket.write(Buffer.concat(ids.map(framed)));
  let heard: Buffer = Buffer.alloc(0);
  const answerBytes = framed(1).length + 16;
  while (heard.length < ids.length * answerBytes) {
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    heard = Buffer.concat([heard, chunk]);
  }
  expect(ids.map((_, index) => heard.readUInt16BE(index * answerBytes + 2))).toEqual(ids);
  expect(answeredAtYield).toEqual(ids);
  expect(defects).toEqual([]);
  socket.destroy();
});

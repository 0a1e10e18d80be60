import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { frameOf, jsonFrame } from '../model/session-frames.js';
import { ExecConnection } from './exec-session.js';

describe('a command beside a replica, over a connection that is reset', () => {
  let server: Socket;
  let client: Socket;
  beforeEach(async () => {
    const listening = createServer();
    listening.listen(0, '127.0.0.1');
    await once(listening, 'listening');
    client = connect((listening.address() as AddressInfo).port, '127.0.0.1');
    client.on('error', () => undefined);
    [server] = (await once(listening, 'connection')) as [Socket];
    server.on('error', () => undefined);
    listening.close();
  });
  afterEach(() => {
    client.destroy();
    server.destroy();
  });

  /** Runs it with an output that takes its first bytes only after the connection has broken, and everything has arrived. */
  const run = async (last: Buffer) => {
    server.write(Buffer.concat([frameOf('begun'), frameOf('stdout', Buffer.from('first,'))]));
    const output: string[] = [];
    const isBroken = new Promise((resolve) => client.once('close', resolve));
    const onOutput = async (_: string, bytes: Buffer): Promise<void> => {
      if (output.length === 0) {
        server.write(Buffer.concat([frameOf('stdout', Buffer.from('second')), last]));
        while (client.readableLength === 0) await turn();
        server.resetAndDestroy();
        await isBroken;
      }
      output.push(bytes.toString());
    };
    const end = await new ExecConnection(client).run({ onOutput }).catch((error: unknown) => error);
    return { output: output.join(''), end };
  };

  it('gives its output and its exit code, if those had arrived', async () => {
    expect(await run(jsonFrame('end', { exitCode: 7 }))).toEqual({
      ...{ output: 'first,second', end: { exitCode: 7 } },
    });
  });

  it('gives what had arrived, and says that the connection was cut', async () => {
    const { output, end } = await run(Buffer.alloc(0));
    expect(output).toBe('first,second');
    expect(end).toMatchObject({
      code: 'NodeNotConnected',
      message: 'the connection to the node was cut, which ends the command there',
    });
  });
});

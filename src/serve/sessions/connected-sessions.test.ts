import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { beforeEach, describe, expect, it } from 'vitest';
import { VirtualTime } from '../../env/virtual.js';
import type { SessionRequest } from '../../model/sessions.js';
import { ConnectedSessions } from './connected-sessions.js';

const request: SessionRequest = {
  ...{ kind: 'log', replica: { tenant: 't', name: 'w-0-1', uid: 'u' }, options: {} },
};

describe('a session with an agent of the same process', () => {
  let sessions: ConnectedSessions;
  let agent: Duplex;
  let caller: Duplex;
  beforeEach(async () => {
    let dialled: Promise<Duplex> | undefined;
    sessions = new ConnectedSessions({
      env: new VirtualTime({ seed: 1 }).machine('server').env,
      tell: (node, id) => {
        dialled = Promise.resolve().then(() => sessions.dial(node, id));
        return true;
      },
      lastRenewedAt: () => undefined,
    });
    caller = await sessions.open('n1', request);
    if (dialled === undefined) throw new Error('the agent was not told');
    agent = await dialled;
  });

  it('is over for the agent when its caller is cut off, and does not count any more', async () => {
    expect(sessions.count).toBe(1);
    const isClosed = once(agent, 'close');
    caller.destroy();
    await isClosed;
    expect(sessions.count).toBe(0);
  });

  it('is over for its caller when the agent is cut off, and does not count any more', async () => {
    const isClosed = once(caller, 'close');
    agent.destroy();
    await isClosed;
    expect(sessions.count).toBe(0);
  });

  it('is read to its end when the agent has ended it', async () => {
    agent.resume();
    agent.end('all of it');
    const read: string[] = [];
    for await (const chunk of caller) read.push(String(chunk));
    expect(read.join('')).toBe('all of it');
  });
});

import { describe, expect, it } from 'vitest';
import { realEnv } from '../../env/real.js';
import { decisionLimitsDefault, type DecisionPage } from '../../model/decisions.js';
import { BerthError } from '../../model/errors.js';
import { MemoryStore } from '../../store/memory.js';
import { decided } from './decision.fixture.js';
import { DecisionLog } from './decision-log.js';
import { decisionName, firstStampAt } from './decision-name.js';
import { type OtherServer, SharedDecisions } from './shared-decisions.js';

const env = realEnv();
const openLog = (server: string): Promise<DecisionLog> =>
  DecisionLog.open({ store: new MemoryStore(env), env, server, limits: decisionLimitsDefault });

/** Servers a, b and c as a sees them; c cannot be reached and d does not say where it is. */
async function openCell() {
  const [a, b] = await Promise.all([openLog('a'), openLog('b')]);
  const servers: OtherServer[] = [
    { name: 'b', address: 'https://b' },
    { name: 'c', address: 'https://c' },
    { name: 'd', address: undefined },
  ];
  const away = (): Promise<never> =>
    Promise.reject(new BerthError('ServerUnreachable', 'connection refused'));
  const shared = new SharedDecisions({
    local: a,
    others: () => Promise.resolve(servers),
    ask: (address) => (address === 'https://b' ? b : { get: away, list: away }),
  });
  return { a, b, shared, servers };
}

const namesIn = ({ items }: DecisionPage): string[] => items.map(({ metadata }) => metadata.name);

describe('the decisions of several servers', () => {
  it('are found by name on the server that keeps them', async () => {
    const { b, shared } = await openCell();
    const name = b.newName();
    b.append(decided(name, 'score'));
    expect(await shared.get('fraud', name)).toMatchObject({ metadata: { name } });
    expect(await shared.get('fraud', b.newName())).toBeUndefined();
    expect(await shared.get('fraud', 'nobody.00mh1gvxyz0')).toBeUndefined();
    expect(await shared.get('fraud', 'no-decision')).toBeUndefined();
  });

  it('name the server that does not answer', async () => {
    const { shared } = await openCell();
    await expect(shared.get('fraud', 'c.00mh1gvxyz0')).rejects.toThrow(
      'decision c.00mh1gvxyz0 is kept by server c, which does not answer: connection refused',
    );
    await expect(shared.get('fraud', 'd.00mh1gvxyz0')).rejects.toThrow(
      'server d, which does not say where it can be reached',
    );
    expect((await shared.list({ limit: 5 })).unanswered).toEqual([
      { server: 'c', message: 'connection refused' },
      { server: 'd', message: 'it does not say where it can be reached' },
    ]);
  });

  it('are listed as one, newest first, page by page', async () => {
    const { a, b, shared } = await openCell();
    const expected: string[] = [];
    for (let count = 0; count < 30; count += 1) {
      const log = count % 3 === 0 ? a : b;
      const name = decisionName({ server: log.server, stamp: firstStampAt(1_700_000_000_000) + count });
      log.append(decided(name, 'score'));
      expected.unshift(name);
    }
    const seen: string[] = [];
    let token: string | undefined;
    do {
      const page = await shared.list({ limit: 7, ...(token !== undefined && { continue: token }) });
      if (token === undefined) expect(page.remaining).toBe(23);
      seen.push(...namesIn(page));
      token = page.continue;
    } while (token !== undefined);
    expect(seen).toEqual(expected);
  });

  it('made in the same instant are each listed once, across pages too', async () => {
    const { a, b, shared } = await openCell();
    const stamp = '00mh1gvxyz0';
    a.append(decided(`a.${stamp}`, 'score'));
    b.append(decided(`b.${stamp}`, 'score'));
    const first = await shared.list({ limit: 1 });
    const second = await shared.list({ limit: 1, continue: first.continue ?? '' });
    expect([...namesIn(first), ...namesIn(second)]).toEqual([`b.${stamp}`, `a.${stamp}`]);
    expect(second.continue).toBeUndefined();
  });
});

import { describe, expect, it } from 'vitest';
import { realEnv } from '../env/real.js';
import { MemoryStore } from '../store/memory.js';
import { addNode, done, openAuthority, openCellOf, proposal } from './open-authority.fixture.js';
import { ScriptedStore } from './scripted-store.fixture.js';

/** Two servers on one store, of which the second sees nothing of what the first does from now on. */
async function openTwo() {
  const env = realEnv();
  const shared = new MemoryStore(env);
  const opened = await openAuthority(shared, env);
  const cell = await openCellOf(opened);
  const epoch = await addNode(opened.authority, 'n1');
  const work = await cell.addWorkload('work', { cpu: '1' });
  const waiting = await Promise.all(['0', '1', '2'].map((slot) => cell.incarnate(work, slot)));
  const store = new ScriptedStore(shared);
  const behind = await openAuthority(store, env);
  store.holdBack();
  const bind = async (at: number, under = epoch) => {
    const [outcome] = await behind.authority.bind([
      proposal(cell.scheduler, waiting[at] as (typeof waiting)[number], 'n1', under),
    ]);
    return outcome?.kind === 'Rejected' ? `${outcome.reason}: ${outcome.message}` : outcome?.kind;
  };
  return { ...opened, epoch, bind };
}

describe('[S8] a server that has not seen a node’s epoch change', () => {
  it('binds nothing under one that another server has closed', async () => {
    const { authority, epoch, bind } = await openTwo();
    expect(await bind(0)).toBe('Committed');
    const operator = { kind: 'operator', name: 'ann' } as const;
    done(
      await authority.attest({
        ...{ actor: operator, node: 'n1', nodeEpoch: epoch, reason: 'it burned' },
        ...{ forSeconds: 60, operation: 'attest' },
      }),
    );
    expect(await bind(1)).toBe('NodeChanged: epoch 1.1 of node n1 was closed: it has to register again');
  });

  it('binds nothing under one that another server has raised, and binds under the new one', async () => {
    const { authority, bind } = await openTwo();
    expect(await bind(0)).toBe('Committed');
    const second = await addNode(authority, 'n1', { operation: 'register/n1/2' });
    expect(await bind(1)).toBe('NodeChanged: epoch 1.1 of node n1 is over; it is at 1.2');
    expect(await bind(2, second)).toBe('Committed');
  });
});

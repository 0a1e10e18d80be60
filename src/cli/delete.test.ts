import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BerthClient } from '../client/client.js';
import { type Cli, startCli, workloadYaml } from './berth.fixture.js';

const held = (name: string): string =>
  workloadYaml(name, 1).replace('namespace: default', 'namespace: default, finalizers: [example.com/hold]');

describe('berth delete and berth wait', () => {
  let cli: Cli;
  beforeAll(async () => {
    cli = await startCli();
  });
  afterAll(() => cli.close());

  const release = (name: string): Promise<unknown> =>
    cli.server.send('PATCH', `/apis/berth.dev/v1/namespaces/default/workloads/${name}`, {
      headers: { 'content-type': 'application/merge-patch+json' },
      body: '{"metadata":{"finalizers":null}}',
    });
  /** Status belongs to a controller, so it is written as one. */
  const setConditions = async (name: string, conditions: object[]): Promise<void> => {
    const client = await BerthClient.fromKubeconfig(
      await cli.server.kubeconfigFor({ kind: 'controller', controller: 'workload-controller' }),
    );
    const path = { group: 'berth.dev', version: 'v1', plural: 'workloads', namespace: 'default' };
    const body = { status: { conditions } };
    await client.patch(path, name, { type: 'merge', body }, { subresource: 'status' });
    client.close();
  };

  it('deletes by name, by selector and by file', async () => {
    await cli.ok('apply -f -', {
      input: ['a', 'b', 'c', 'd'].map((name) => workloadYaml(name, 1)).join('---'),
    });
    // Its controller may have put a finalizer on it by now, and then it would not be gone at once.
    expect(await cli.ok('delete wl a --dry-run')).toMatch(/^workload\/a (is being )?deleted \(dry run\)\n$/);
    // Each is told when it is gone, and either may go first.
    expect((await cli.ok('delete wl/a wl/b')).split('\n').toSorted()).toEqual([
      '',
      'workload/a deleted',
      'workload/b deleted',
    ]);
    expect(await cli.ok('delete wl -l app=c')).toBe('workload/c deleted\n');
    expect(await cli.ok('delete -f -', { input: workloadYaml('d', 1) })).toBe('workload/d deleted\n');
    expect(await cli.run('get wl')).toMatchObject({
      stdout: '',
      stderr: 'no workloads in namespace default\n',
    });
  });

  it('waits until they are gone, or as long as it is told to', async () => {
    await cli.ok('apply -f -', { input: held('held') });
    const late = await cli.run('delete wl held --timeout 300ms');
    expect(late).toMatchObject({ status: 3, stdout: '' });
    expect(late.stderr).toBe('error: timed out after 300ms: still being deleted: workload/held\n');
    expect(await cli.ok('delete wl held --no-wait')).toBe('workload/held is being deleted\n');
    const waiting = cli.start('delete wl held');
    const watching = cli.start('wait wl/held --for delete');
    await release('held');
    // It may have gone before the delete was sent, but not before the watch that saw it go.
    expect((await watching.ended).stdout).toBe('workload/held deleted\n');
    expect([0, 1]).toContain((await waiting.ended).status);
  });

  it('says what is not there, unless told that this is fine', async () => {
    expect(await cli.run('delete wl nope')).toMatchObject({ status: 1, stdout: '' });
    expect(await cli.run('delete wl nope --ignore-not-found')).toEqual({ status: 0, stdout: '', stderr: '' });
  });

  it('waits for a condition and for a field', async () => {
    await cli.ok('apply -f -', { input: workloadYaml('waited', 2) });
    const waiting = cli.start('wait wl/waited --for condition=Ready --timeout 20s');
    const condition = {
      type: 'Ready',
      lastTransitionTime: '2026-01-01T00:00:00Z',
      reason: 'Test',
      message: 'm',
    };
    await setConditions('waited', [{ ...condition, status: 'False' }]);
    await setConditions('waited', [{ ...condition, status: 'True' }]);
    expect(await waiting.ended).toEqual({ status: 0, stdout: 'workload/waited condition met\n', stderr: '' });
    expect(await cli.ok(['wait', 'wl', 'waited', '--for', 'jsonpath={.spec.replicas}=2'])).toBe(
      'workload/waited condition met\n',
    );
    const late = await cli.run('wait wl waited --for condition=Raedy --timeout 200ms');
    expect(late).toMatchObject({ status: 3, stdout: '' });
    expect(late.stderr).toBe(
      'error: workload/waited: timed out after 200ms waiting for condition Raedy=True; its conditions are Ready; did you mean Ready?\n',
    );
  });

  it('ends with 4 where the condition can no longer come, because the object has gone', async () => {
    await cli.ok('apply -f -', { input: `${workloadYaml('doomed', 1)}---${workloadYaml('marker', 2)}` });
    const waiting = cli.start('wait wl doomed marker --for jsonpath={.spec.replicas}=2 --timeout 20s');
    // Both are looked at together: once the one is told of, the other has been seen.
    await expect.poll(waiting.printed).toBe('workload/marker condition met\n');
    await cli.ok('delete wl doomed');
    const { status, stderr } = await waiting.ended;
    expect({ status, stderr }).toEqual({
      status: 4,
      stderr: 'error: workload/doomed: deleted while waiting for {.spec.replicas} to be 2\n',
    });
  });

  it.each([
    { words: 'wait wl/x --for conditon=Ready', status: 64, says: 'did you mean condition?' },
    { words: 'wait wl/x --for condition', status: 64, says: 'allowed are condition=TYPE[=STATUS]' },
    { words: 'wait wl/x --for jsonpath={.a..b}', status: 64, says: 'is not a path to a field at "..b"' },
    { words: 'wait wl/nope --for condition=Ready', status: 1, says: 'workload/nope: not found' },
    { words: 'wait wl --for delete', status: 64, says: 'which workloads? name them: workload/NAME' },
    { words: 'wait wl/x --for delete --timeout soon', status: 64, says: '"soon" is not a duration' },
    { words: 'delete wl', status: 64, says: 'which workloads? name them, select them with -l, or say --all' },
    { words: 'delete', status: 64, says: 'what? KIND NAME' },
    { words: 'delete wl x --cascade forground', status: 64, says: 'Did you mean foreground?' },
  ])('answers `$words` with one clear message and exit code $status', async ({ words, status, says }) => {
    const ran = await cli.run(words);
    expect(ran).toMatchObject({ status, stdout: '' });
    expect(ran.stderr).toContain(says);
  });
});

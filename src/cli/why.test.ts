import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decisionJson } from '../main/replayed-decision.fixture.js';
import { testClient } from '../main/test-client.fixture.js';
import { type Cli, startCli } from './berth.fixture.js';

const cell = `
apiVersion: berth.dev/v1
kind: Tenant
metadata: { name: bank }
spec: { limit: { cpu: "4" } }
---
apiVersion: berth.dev/v1
kind: Workload
metadata: { name: score, namespace: bank }
spec:
  type: Service
  replicas: 1
  template: { run: { process: { command: [./score] } }, resources: { cpu: "2" } }
---
apiVersion: berth.dev/v1
kind: Workload
metadata: { name: train, namespace: bank }
spec:
  type: Service
  replicas: 1
  template: { run: { process: { command: [./train] } }, resources: { cpu: "6" } }
`;

describe('berth why', () => {
  let cli: Cli;
  const operate = async (operation: string, input: object): Promise<void> => {
    const client = testClient(await cli.server.kubeconfigFor({ kind: 'controller', controller: 'commit' }));
    const { status, text } = await client.send(
      'POST',
      `/apis/authority.berth.dev/v1/operations/${operation}`,
      { headers: { 'content-type': 'application/json' }, body: JSON.stringify(input) },
    );
    client.close();
    if (status !== 200 || !text.includes('Committed')) throw new Error(text);
  };
  const register = (node: string, cpu: string): Promise<void> =>
    operate('register', {
      ...{ node, capacity: { cpu, memory: '8Gi' }, allocatable: { cpu, memory: '8Gi' } },
      ...{ agent: {}, leaseSeconds: 40, operation: `register/${node}` },
    });

  beforeAll(async () => {
    cli = await startCli();
    await cli.ok('apply -f -', { input: cell });
    await cli.ok('wait wl/score wl/train -n bank --for jsonpath={.status.replicas}=1');
  });
  afterAll(() => cli.close());

  it('says that nothing can be placed where there are no nodes, and which would help', async () => {
    const { status, stdout } = await cli.run('why score -n bank');
    expect(status).toBe(2);
    const [first, ...rest] = stdout.split('\n');
    expect(first).toMatch(/^workload bank\/score cannot be placed: there are no nodes; 0 of 1 serve$/);
    expect(rest.join('\n')).toContain('add a node with cpu 2 in local/local');
  });

  it('names filters with counts and nodes, and the smallest changes of one object', async () => {
    await cli.ok('apply -f -', {
      input: `
apiVersion: berth.dev/v1
kind: Node
metadata: { name: n2 }
spec: { region: local, zone: local, taints: [{ key: kept, value: back, effect: NoSchedule }] }
`,
    });
    await register('n1', '1');
    await register('n2', '4');
    const asked = await cli.run('why replica/score-0-1 -n bank -o json');
    expect(asked.status).toBe(2);
    const answer = JSON.parse(asked.stdout) as object;
    expect(answer).toMatchObject({
      kind: 'Explanation',
      state: 'CannotBePlaced',
      answer: 'replica bank/score-0-1 cannot be placed: none of 2 nodes takes it (1 NodeFull, 1 Tainted)',
      stages: { Queued: 1 },
      limitedBy: 'Scheduling',
      nextMove: 'scheduler',
      placement: {
        nodes: 2,
        fits: { count: 0 },
        rejections: [
          { reason: 'NodeFull', count: 1, nodes: ['n1'] },
          { reason: 'Tainted', count: 1, nodes: ['n2'] },
        ],
        cures: [
          { kind: 'Node', name: 'n2', change: { type: 'Patch', patch: { spec: { taints: [] } } } },
          { kind: 'Node', name: 'n1', change: { type: 'Register', allocatable: { cpu: '2' } } },
          { kind: 'Workload', name: 'score', namespace: 'bank' },
          { kind: 'Node', name: 'new-node', change: { type: 'Create', allocatable: { cpu: '2' } } },
        ],
      },
    });
    const { stdout } = await cli.run('why replica score-0-1 -n bank');
    expect(stdout).toContain('remove the taint kept=back:NoSchedule from node n2');
    expect(stdout).toContain(`kubectl patch node n2 --type merge -p '{"spec":{"taints":[]}}'`);
  });

  it('says when a limit and the nodes are both in the way: no single change helps', async () => {
    const { status, stdout } = await cli.run('why wl/train -n bank');
    expect(status).toBe(2);
    expect(stdout).toMatch(
      /^workload bank\/train cannot be placed: tenant bank uses [02] of the 4 cpu that its limit allows, and 6 more would be used/,
    );
    expect(stdout).toMatch(/in its way: QuotaExceeded, /);
  });

  it('why-not gives every filter on one node, and 2 where one refuses', async () => {
    const { status, stdout } = await cli.run('why-not score -n bank --node n2');
    expect(status).toBe(2);
    expect(stdout).toMatch(/^node n2 does not take replica bank\/score-0-1: Tainted\n/);
    expect(stdout).toMatch(/\nresources +passes/);
    expect(stdout).toMatch(/\ntaints +refuses +Tainted +node n2 has the taint kept=back:NoSchedule/);
    expect(stdout).toMatch(/\nquota +passes/);
  });

  it('says that it is on its way once a cure was applied', async () => {
    const input = `
apiVersion: berth.dev/v1
kind: Node
metadata: { name: n2 }
spec: { region: local, zone: local, taints: [] }
`;
    await cli.ok('apply -f -', { input });
    const { status, stdout } = await cli.run('why replica score-0-1 -n bank');
    expect(status).toBe(0);
    expect(stdout).toMatch(
      /^replica bank\/score-0-1 (waits for the scheduler; 1 of 2 nodes would take it now|is bound on n2 )/,
    );
    expect((await cli.run('why-not score -n bank --node n2')).status).toBe(0);
  });

  it('shows the decision that placed it with what the authority answered, and runs it again', async () => {
    const placed = async (): Promise<string> =>
      (
        await cli.ok('get decisions -n bank --field-selector spec.workload=score,spec.result=Placed -o name')
      ).trim();
    await expect.poll(placed).toMatch(/^decision\/\S+$/);
    const name = (await placed()).slice('decision/'.length);
    const explained = JSON.parse(await cli.ok('why replica/score-0-1 -n bank -o json')) as object;
    expect(explained).toMatchObject({
      node: 'n2',
      limitedBy: 'NodeStart',
      nextMove: 'agent:n2',
      decisions: [{ name, result: 'Placed', answers: { Committed: 1 }, nodes: ['n2'] }],
    });
    expect(await cli.ok('why node/n2 -n bank')).toContain(name);
    const replayed = await cli.run(`replay ${name} -n bank`);
    expect(replayed).toMatchObject({ status: 0, stdout: '' });
    expect(replayed.stderr).toContain('the same choice for its one replica, 1 placed');
  });

  it('runs a decision again that found no place', async () => {
    const names = await cli.ok('get decisions -n bank --field-selector spec.workload=train -o name');
    const [name = ''] = names.trim().split('\n');
    expect((await cli.run(`replay ${name} -n bank`)).status).toBe(0);
  });

  it('speaks of a node too', async () => {
    const { status, stdout } = await cli.run('why node n1');
    expect(status).toBe(0);
    expect(stdout).toMatch(/^node n1 takes new work\n/);
    expect(stdout).toContain('committed: 0 of 1 cpu');
  });

  it('why-not of a node without a name ends with 64 and names the option', async () => {
    const ran = await cli.run(['why-not', 'score', '-n', 'bank', '--node', '']);
    expect(ran).toMatchObject({ status: 64, stdout: '' });
    expect(ran.stderr).toMatch(/^error: option '--node <name>' has an empty value\n/);
  });

  it.each([
    ['why pc/default', 64, 'why is answered for workload, replica, gang, node, not for priorityclass'],
    ['why nope', 1, 'there is no workload default/nope'],
    ['why-not score -n bank --node n9', 1, 'there is no node "n9"'],
    ['why-not node/n1 --node n1', 1, 'why-not is asked of what runs there'],
    ['why-not score -n bank', 64, "required option '--node <name>' not specified"],
    ['replay', 64, 'which decision?'],
    ['replay wl/score', 64, 'a decision can be run again, not a workload'],
    ['replay nothing.000', 1, 'decision default/nothing.000 is not kept, or not any more'],
  ])('%s ends with %i and one line', async (words, status, message) => {
    const ran = await cli.run(words);
    expect(ran).toMatchObject({ status, stdout: '' });
    expect(ran.stderr).toContain(message);
    expect(ran.stderr.trim().split('\n').length).toBeLessThanOrEqual(2);
  });
});

describe('berth replay', () => {
  let cli: Cli;
  beforeAll(async () => {
    cli = await startCli();
  });
  afterAll(() => cli.close());

  it('finds the same choice again, from a file or from standard input', async () => {
    const text = decisionJson((node) => node);
    const ran = await cli.run(['replay', '-f', cli.write('decision.json', text)]);
    expect(ran).toMatchObject({ status: 0, stdout: '' });
    expect(ran.stderr).toContain('the same choice for all 3 replicas, 3 placed');
    expect((await cli.run('replay -f -', { input: text })).status).toBe(0);
  });

  it('shows where it would choose otherwise, and ends with 4', async () => {
    const ran = await cli.run('replay -f -', { input: decisionJson(() => 'n9') });
    expect(ran.status).toBe(4);
    expect(ran.stdout).toMatch(/^REPLICA +DECIDED +NOW\nscore-0-1 +n9 +n\d\n/);
    expect(ran.stderr).toContain('another choice for 3 of 3 replicas');
  });

  it('says which of the inputs is wrong and what it may be, and ends with 1', async () => {
    const decision = JSON.parse(decisionJson((node) => node)) as { spec: object };
    const text = JSON.stringify({ ...decision, spec: { ...decision.spec, inputs: { form: 1 } } });
    const ran = await cli.run('replay -f -', { input: text });
    expect(ran).toMatchObject({ status: 1, stdout: '' });
    expect(ran.stderr).toBe('error: spec.inputs.classKey is missing; allowed is TENANT/REVISION\n');
  });

  it('refuses in one line what it cannot run again', async () => {
    const { inputs: _, ...spec } = (JSON.parse(decisionJson((node) => node)) as { spec: { inputs: object } })
      .spec;
    const text = JSON.stringify({ ...(JSON.parse(decisionJson((node) => node)) as object), spec });
    expect((await cli.run('replay -f -', { input: text })).stderr).toContain('the decision has no inputs');
    const other = await cli.run('replay -f -', {
      input: JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'x' } }),
    });
    expect(other.stderr).toContain('it is not an object of kind Decision');
  });
});

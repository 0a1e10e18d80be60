import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from './running.fixture.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const clients = [
  { name: 'the kubectl on PATH', path: 'kubectl', isOld: false },
  { name: "Debian's kubectl", path: join(root, '.tools/kubernetes-client/usr/bin/kubectl'), isOld: true },
];

const manifest = (replicas: number): string => `
apiVersion: berth.dev/v1
kind: Workload
metadata: { name: score, namespace: fraud, labels: { app: score } }
spec:
  type: Service
  replicas: ${replicas}
  template:
    run: { process: { command: [./score] } }
    resources: { cpu: "2", memory: 4Gi }
`;
const tenant = `
apiVersion: berth.dev/v1
kind: Tenant
metadata: { name: fraud }
spec: { limit: { cpu: "64" } }
`;

describe.each(clients)('with $name', ({ path, isOld }) => {
  let server: TestServer;
  let home: string;
  beforeAll(async () => {
    if (isOld && !existsSync(path)) throw new Error(`${path} is missing: make test fetches it`);
    server = await startServer();
    home = join(server.dir, 'home');
    mkdirSync(home);
  });
  afterAll(async () => {
    const { defects } = server;
    await server.dispose();
    if (defects.length > 0) throw new Error(`the server met its own defects: ${String(defects[0])}`);
  });

  const start = (words: readonly string[], input = '') => {
    const child = spawn(path, words, {
      env: {
        PATH: process.env['PATH'],
        HOME: home,
        KUBECONFIG: server.kubeconfig,
        EDITOR: 'sed -i s/replicas:.*/replicas:\\ 7/',
      },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    child.stdin.end(input);
    const ended = new Promise<{ status: number | null; stdout: string; stderr: string }>((resolve) => {
      child.once('close', (status) => resolve({ status, stdout, stderr }));
    });
    return { child, ended, sofar: () => stdout, complaints: () => stderr };
  };
  const kubectl = async (words: string, input = ''): Promise<string> => {
    const { status, stdout, stderr } = await start(words.split(' '), input).ended;
    if (status !== 0) throw new Error(`kubectl ${words} ended with ${status}: ${stdout}${stderr}`);
    return stdout;
  };
  const failing = async (words: string, input = ''): Promise<string> => {
    const { status, stderr, stdout } = await start(words.split(' '), input).ended;
    expect(status, stdout).not.toBe(0);
    return stderr;
  };

  it('finds every kind', async () => {
    const listed = await kubectl('api-resources');
    for (const word of ['workloads', 'wl', 'tenants', 'nodes', 'priorityclasses', 'events', 'namespaces'])
      expect(listed).toContain(word);
    expect(await kubectl('get namespaces')).toMatch(/default +Active/);
    expect(await kubectl('get tenants,regions,priorityclasses')).toContain('local');
  });

  it('creates, gets in every form, lists and selects', async () => {
    await kubectl('apply -f -', tenant);
    expect(await kubectl('create -f -', manifest(2))).toContain('workload.berth.dev/score created');
    expect(await failing('create -f -', manifest(2))).toContain('already exists');
    expect(await kubectl('get wl -n fraud')).toMatch(/NAME +TYPE +DESIRED[^]*score +Service/);
    expect(await kubectl('get wl -A -o wide')).toContain('PRIORITY');
    expect(await kubectl('get wl score -n fraud -o yaml')).toContain('priorityClassName: default');
    expect(JSON.parse(await kubectl('get wl score -n fraud -o json'))).toMatchObject({
      spec: { replicas: 2 },
    });
    expect(await kubectl('get wl score -n fraud -o jsonpath={.spec.replicas}')).toBe('2');
    expect(await kubectl('get wl -n fraud -o custom-columns=N:.metadata.name,R:.spec.replicas')).toMatch(
      /score +2/,
    );
    expect(await kubectl('get wl -n fraud -l app=score -o name')).toBe('workload.berth.dev/score\n');
    expect(await kubectl('get wl -n fraud -l app!=score -o name')).toBe('');
    expect(await kubectl('get wl -A --field-selector metadata.name=score -o name')).toContain('score');
    expect(await kubectl('get wl -A --sort-by=.metadata.name')).toContain('score');
    expect(await failing('get wl nowhere -n fraud')).toContain('(NotFound)');
    expect(await failing('get wl -A --field-selector spec.nonsense=1')).toContain('metadata.name');
  });

  it('changes: apply on both sides, patch, scale, label, annotate, edit, diff', async () => {
    await kubectl('apply -f -', manifest(2));
    expect(await kubectl('apply -f -', manifest(3))).toContain('configured');
    expect(await kubectl('apply -f -', manifest(3))).toContain('unchanged');
    const replicas = () => kubectl('get wl score -n fraud -o jsonpath={.spec.replicas}');
    expect(await replicas()).toBe('3');
    expect(await failing('apply --server-side -f -', manifest(4))).toContain('conflict');
    await kubectl('apply --server-side --force-conflicts -f -', manifest(4));
    expect(await replicas()).toBe('4');
    await start(['patch', 'wl', 'score', '-n', 'fraud', '--type', 'merge', '-p', '{"spec":{"replicas":5}}'])
      .ended;
    expect(await replicas()).toBe('5');
    await start([
      'patch',
      'wl',
      'score',
      '-n',
      'fraud',
      '--type',
      'json',
      '-p',
      '[{"op":"replace","path":"/spec/replicas","value":6}]',
    ]).ended;
    expect(await replicas()).toBe('6');
    expect(await kubectl('scale wl/score -n fraud --replicas=1')).toContain('scaled');
    await kubectl('label wl score -n fraud team=risk');
    await kubectl('annotate wl score -n fraud note=yes');
    expect(await kubectl('get wl -n fraud -l team=risk -o name')).toContain('score');
    await kubectl('edit wl score -n fraud');
    expect(await replicas()).toBe('7');
    const diff = await start(['diff', '-f', '-'], manifest(9)).ended;
    expect(diff.status).toBe(1);
    expect(diff.stdout).toContain('replicas: 9');
    expect(await replicas()).toBe('7');
  });

  it('explains, describes and answers what one may', async () => {
    expect(await kubectl('explain workload.spec.template')).toContain('execution');
    expect(await kubectl('explain tenant --recursive')).toContain('guaranteed');
    const described = await kubectl('describe wl score -n fraud');
    for (const part of ['Name:', 'score', 'Replicas:', 'Events:']) expect(described).toContain(part);
    expect(await kubectl('auth can-i create workloads.berth.dev -n fraud')).toContain('yes');
    expect(await kubectl('auth can-i --list -n fraud')).toMatch(/workloads\.berth\.dev .*\bcreate\b/);
    expect((await start(['auth', 'can-i', 'create', 'nodeledgers.berth.dev']).ended).stdout).toContain('no');
  });

  it('watches, and waits for a condition and for a deletion', async () => {
    const watching = start(['get', 'wl', '-n', 'fraud', '-w', '-o', 'name']);
    await expect.poll(() => watching.sofar()).toContain('score');
    await kubectl('create -f -', manifest(1).replace('name: score,', 'name: second,'));
    await expect.poll(() => watching.sofar()).toContain('second');
    watching.child.kill();
    await watching.ended;
    // With -v=6 it says when its watch is open; a deletion before that would be none it could wait for.
    const waiting = start(['wait', '--for=delete', 'wl/second', '-n', 'fraud', '--timeout=20s', '-v=6']);
    await expect.poll(() => waiting.complaints()).toContain('watch=true');
    expect(await kubectl('delete wl second -n fraud')).toContain('deleted');
    expect((await waiting.ended).status).toBe(0);
    const timedOut = await start(['wait', '--for=condition=Ready', 'wl/score', '-n', 'fraud', '--timeout=1s'])
      .ended;
    expect(timedOut.stderr).toContain('timed out waiting');
  });

  it('is told what is wrong with a manifest, every field of it', async () => {
    const file = join(server.dir, 'wrong.yaml');
    writeFileSync(
      file,
      manifest(1).replace('type: Service', 'type: Servic').replace('replicas: 1', 'replicas: -1'),
    );
    const said = await failing(`apply --validate=false -f ${file}`);
    for (const part of ['spec.type', 'Service', 'spec.replicas', 'at least 0']) expect(said).toContain(part);
    expect(await failing('create -f -', manifest(1).replace('fraud,', 'nowhere,'))).toContain(
      'there is no tenant of that name',
    );
    const unknown = manifest(1)
      .replace('type: Service', 'type: Service\n  repicas: 2')
      .replace('name: score,', 'name: third,');
    if (!isOld) expect(await failing('create -f -', unknown)).toContain('spec.repicas');
  });

  it('deletes a tenant with all that is in it', async () => {
    expect(await kubectl('delete tenant fraud --timeout=20s')).toContain('deleted');
    expect(await failing('get wl score -n fraud')).toContain('NotFound');
    expect(await failing('create namespace other')).toContain('MethodNotAllowed');
  });
});

import { existsSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testClient } from '../main/test-client.fixture.js';
import { type Cli, program, startCli, workloadYaml } from './berth.fixture.js';

describe('commands that show and change one object', () => {
  let cli: Cli;
  beforeAll(async () => {
    cli = await startCli();
    await cli.ok('apply -f -', { input: `${workloadYaml('score', 3)}---${workloadYaml('web', 1)}` });
    for (const [name, at] of [
      ['second', '2026-01-01T00:00:02Z'],
      ['first', '2026-01-01T00:00:01Z'],
    ]) {
      const body = JSON.stringify({
        metadata: { name },
        involvedObject: { apiVersion: 'berth.dev/v1', kind: 'Workload', name: 'score', namespace: 'default' },
        reason: `Reason${name}`,
        message: `the ${name} thing`,
        type: 'Warning',
        lastTimestamp: at,
      });
      const kubeconfig = await cli.server.kubeconfigFor({
        kind: 'controller',
        controller: 'workload-controller',
      });
      const client = testClient(kubeconfig);
      const headers = { 'content-type': 'application/json' };
      const answer = await client.send('POST', '/api/v1/namespaces/default/events', { headers, body });
      client.close();
      if (answer.status !== 201) throw new Error(answer.text);
    }
  });
  afterAll(() => cli.close());

  it('describe shows an object for people, with its events in order', async () => {
    const text = await cli.ok('describe wl score');
    expect(text).toMatch(/^Name: +score\nNamespace: +default\nKind: +Workload \(berth\.dev\/v1\)\n/);
    expect(text).toMatch(/\nLabels: +app=score\n/);
    expect(text).toMatch(/\nSpec:\n {2}type: Service\n {2}replicas: 3\n/);
    expect(text).toMatch(/\nEvents:\n {2}LAST SEEN .*\n.*the first thing.*\n.*the second thing/);
    expect(await cli.ok('describe wl/web')).toMatch(/\nEvents:\n {2}\(none\)\n$/);
    expect(await cli.run('describe wl nope')).toMatchObject({ status: 1, stdout: '' });
  });

  it('events shows what happened, oldest first, of one object if it is named', async () => {
    const names = (await cli.ok('events -o name')).trim().split('\n');
    expect(names).toEqual(['event/first', 'event/second']);
    expect(await cli.ok('events wl/score')).toMatch(/Reasonfirst +workload\/score .*\n.*Reasonsecond/);
    expect(await cli.run('events wl/web')).toMatchObject({ status: 0, stdout: '' });
    const watching = cli.start('events wl/score -w');
    await expect.poll(watching.printed).toContain('Reasonsecond');
    watching.child.kill('SIGTERM');
  });

  it('explain says what a field is, and what a mistyped one might be', async () => {
    const text = await cli.ok('explain wl.spec.template.execution');
    expect(text).toMatch(/^KIND: +Workload \(berth\.dev\/v1\)\nFIELD: +spec\.template\.execution <string>\n/);
    expect(text).toMatch(/\nALLOWED: +one of AtLeastOne, AtMostOne\n/);
    expect(await cli.ok('explain tenant')).toMatch(/\nFIELDS:\n[^]*spec <object>/);
    expect(await cli.ok('explain tenant.spec --recursive')).toMatch(/\n {2}limit <object>\n {4}cpu </);
    const wrong = await cli.run('explain wl.spec.templat.execution');
    expect(wrong).toMatchObject({ status: 64, stdout: '' });
    expect(wrong.stderr).toBe('error: wl.spec has no field "templat"; did you mean template?\n');
  });

  it('edit changes an object, and keeps the text where the server does not take it', async () => {
    const replicas = (value: string): { EDITOR: string } => ({
      EDITOR: `sed -i 's/replicas:.*/replicas: ${value}/'`,
    });
    expect(await cli.ok('edit wl web', { env: replicas('7') })).toBe('workload/web edited\n');
    expect(await cli.ok(['get', 'wl', 'web'])).toMatch(/web +Service +7 /);
    expect(await cli.run('edit wl web', { env: { EDITOR: 'true' } })).toEqual({
      status: 0,
      stdout: '',
      stderr: 'workload/web unchanged\n',
    });
    const env = { TMPDIR: cli.dir };
    const kept = (stderr: string): string => /your text is kept in (\S+)\n$/.exec(stderr)?.[1] ?? '';
    const invalid = await cli.run('edit wl web', { env: { ...env, ...replicas('many') } });
    expect(invalid).toMatchObject({ status: 1, stdout: '' });
    expect(invalid.stderr).toMatch(/^error: .*spec\.replicas/);
    expect(readFileSync(kept(invalid.stderr), 'utf8')).toContain('replicas: many');
    // Somebody else is faster than the editor.
    const other = cli.write('other.yaml', workloadYaml('web', 2));
    const editor = cli.write(
      'editor.sh',
      `"${process.execPath}" "${program}" apply --force-conflicts -f "${other}" >&2 && sed -i 's/replicas:.*/replicas: 9/' "$1"`,
    );
    const conflict = await cli.run('edit wl web', { env: { ...env, VISUAL: `sh ${editor}` } });
    expect(conflict).toMatchObject({ status: 1, stdout: '' });
    expect(conflict.stderr).toMatch(/workload\/web configured|error: .*changed/);
    expect(existsSync(kept(conflict.stderr))).toBe(true);
    expect(await cli.ok('get wl web')).toMatch(/web +Service +2 /);
    const failing = await cli.run('edit wl web', { env: { ...env, EDITOR: 'false' } });
    expect(failing).toMatchObject({ status: 1, stdout: '' });
    expect(failing.stderr).toMatch(/^error: the editor \(false\) ended with 1; your text is kept in /);
  });
});

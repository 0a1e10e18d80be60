import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawn } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../../testing/run-process.js';
import { scratchDirectory } from '../../testing/scratch.js';
import { projectRoot } from '../../testing/source-tree.js';
import { program, startBerth } from './berth.fixture.js';

interface Step {
  readonly command: string;
  /** Said in its comment: `# ends with 2: …`; else 0. */
  readonly status: number;
  /** What README shows of its output; `…` stands for anything. */
  readonly shows?: string;
}

const readme = readFileSync(join(projectRoot, 'README.md'), 'utf8');
const steps = stepsOf(readme);
const setUp = /^(make|npm test)\b/;
const needsNoServer = /^npx berth simulate\b/;
const starts = /^npx berth up\b/;
const inOrder = steps.filter(({ command }) => ![setUp, needsNoServer].some((kind) => kind.test(command)));

describe('the commands of README.md', () => {
  let scratch: ReturnType<typeof scratchDirectory>;
  let up: ReturnType<typeof startBerth> | undefined;
  beforeAll(() => {
    scratch = scratchDirectory('readme');
    symlinkSync(join(projectRoot, 'examples'), join(scratch.path, 'examples'));
    const bin = join(scratch.path, 'bin');
    mkdirSync(bin);
    // The program that `npx berth` runs, without what npm takes to find it.
    const script = `#!/bin/sh\nshift\nexec '${process.execPath}' '${program}' "$@"\n`;
    writeFileSync(join(bin, 'npx'), script, { mode: 0o755 });
  });
  afterAll(async () => {
    up?.child.kill('SIGTERM');
    await up?.ended;
    scratch.remove();
  });
  const exported: string[] = [];
  const inShell = (command: string): Promise<{ status: number | null; said: string }> => {
    const PATH = `${join(scratch.path, 'bin')}:${process.env['PATH']}`;
    const script = [...exported, `{ ${command}\n} 2>&1`].join('\n');
    const child = spawn('bash', ['-c', script], {
      ...{ cwd: scratch.path, env: { PATH, HOME: scratch.path }, stdio: ['ignore', 'pipe', 'inherit'] },
    });
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
    return new Promise((resolve) => child.once('close', (status) => resolve({ status, said })));
  };

  it('are found, the tour among them', () => {
    expect(steps.slice(0, 2).map(({ command }) => command)).toEqual(['make up', 'make test']);
    expect(inOrder.length).toBeGreaterThan(15);
    expect(inOrder.filter(({ shows }) => shows !== undefined).length).toBeGreaterThan(5);
  });

  it('begin with a program that npx finds', async () => {
    const { status, stdout } = await run('npx', ['--no-install', '--prefix', projectRoot, 'berth', '--help']);
    expect([status, stdout]).toEqual([0, expect.stringContaining('why-not')]);
  });

  it.each(titled(steps.filter(({ command }) => setUp.test(command))))(
    '%s names what there is',
    async (command) => {
      const [tool, first = '', ...rest] = command.split(' ');
      if (tool === 'make') {
        expect((await run('make', ['-C', projectRoot, '-n', first, ...rest])).status).toBe(0);
        for (const [, bench] of command.matchAll(/BENCH=(\w+)/g))
          expect(readdirSync(join(projectRoot, 'bench'))).toContain(`${bench}.ts`);
        return;
      }
      // The suite runs these tests itself: here it is seen that the words pick some.
      const tests = readdirSync(join(projectRoot, 'dist'), { recursive: true, encoding: 'utf8' }).filter(
        (path) => path.endsWith('.test.js'),
      );
      for (const word of rest.slice(1))
        expect(
          tests.filter((path) => path.includes(word)),
          word,
        ).not.toEqual([]);
    },
  );

  it.each(titled(steps.filter(({ command }) => needsNoServer.test(command))))(
    '%s ends as it says',
    async (command, { status }) => {
      const ran = await inShell(command);
      expect(ran.status, ran.said).toBe(status);
    },
    120_000,
  );

  it.each(titled(inOrder))(
    '%s ends as it says, with what is shown',
    async (command, { status, shows }) => {
      if (starts.test(command)) {
        const words = command.split(' ').slice(2);
        up?.child.kill('SIGTERM');
        await up?.ended;
        const started = startBerth([...words, '--port', '0'], { cwd: scratch.path });
        up = started;
        await expect.poll(() => started.printed(), { timeout: 60_000 }).toContain('\n');
        expect(started.printed().replace(/:\d+ /, ':7443 ')).toMatch(patternOf(shows ?? ''));
        return;
      }
      if (command.startsWith('export ')) {
        exported.push(command);
        return;
      }
      const ran = await inShell(command);
      expect(ran.status, ran.said).toBe(status);
      if (shows !== undefined) expect(ran.said).toMatch(patternOf(shows));
    },
    150_000,
  );
});

/** The lines of its `sh` blocks. A `text` block that follows one shows what its last command prints. */
function stepsOf(markdown: string): Step[] {
  const found: Step[] = [];
  for (const [, language, body = ''] of markdown.matchAll(/^```(\w+)\n(.*?)\n```$/gms)) {
    if (language === 'text') found.push({ ...(found.pop() as Step), shows: body });
    if (language !== 'sh') continue;
    for (const line of body.split('\n')) {
      const [, command = '', comment = ''] = /^(.*?)(?:\s+# (.*))?$/.exec(line) ?? [];
      const [, status = '0'] = /^ends with (\d+)/.exec(comment) ?? [];
      found.push({ command, status: Number(status) });
    }
  }
  return found;
}

function titled(some: readonly Step[]): [command: string, step: Step][] {
  return some.map((step) => [step.command, step]);
}

function patternOf(shows: string): RegExp {
  const literal = shows.split(/ *…/).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${literal.join('[^]*?')}\\s*$`);
}

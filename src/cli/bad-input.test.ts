import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixturePath } from '../../testing/run-process.js';
import { scratchDirectory } from '../../testing/scratch.js';
import type { Case, CaseEnd } from './bad-input.fixture.js';
import { type Cli, startBerth, startCli } from './berth.fixture.js';
import { commands } from './commands.js';
import { exitCodes } from './exit-codes.js';

/** A command, or a part of a command such as `token create`, with the arguments that it cannot do without. */
interface Part {
  readonly path: readonly string[];
  readonly command: Command;
  readonly needed: readonly string[];
}

// Start something that goes on: tried in processes of their own.
const lasting = ['up', 'server', 'agent', 'hollow'];
// Below a file: neither found nor made by anybody, root included.
const nowhere = '/proc/version/nowhere';
// Go on by design, until somebody ends them.
const endless = ['--watch', '--follow'];
const wrongValues = ['', ' ', 'nonsense', '-1', '99999999999999999999', nowhere, '/', '{', 'a=b,c', '§\n§'];
const hasStarted = (output: string): boolean => /^ready/m.test(output);
const stack = /^\s+at \S/m;
const documented = new Set<number | undefined>(Object.values(exitCodes));

const partsOf = (path: readonly string[], command: Command): readonly Part[] =>
  command.commands.length > 0
    ? command.commands.flatMap((sub) => partsOf([...path, sub.name()], sub))
    : [{ path, command, needed: neededBy(path, command) }];

function neededBy(path: readonly string[], command: Command): readonly string[] {
  // Everything else of it takes minutes.
  if (path[0] === 'simulate') return ['--list'];
  if (path[0] === 'up') return ['--no-agent', '--port', '0'];
  const words = command.registeredArguments.filter(({ required }) => required).map(() => 'wl/x');
  const options = command.options
    .filter(({ mandatory }) => mandatory)
    .flatMap(({ long }) => [long ?? '', 'x']);
  return [...words, ...options];
}

const all = (await Promise.all(commands.map(async ({ name, load }) => partsOf([name], await load())))).flat();
const brief = all.filter(({ path: [name = ''] }) => !lasting.includes(name));

/** Every option with every wrong value, or alone where it takes none. */
const optionsOf = ({ command }: Part): readonly (readonly string[])[] =>
  command.options
    .filter(({ long }) => !endless.includes(long ?? ''))
    .flatMap(({ long = '', required, optional }) =>
      required || optional ? wrongValues.map((value) => [long, value]) : [[long]],
    );

/** Wrong words in place of every argument. */
const argumentsOf = ({ command, needed }: Part): readonly (readonly string[])[] =>
  command.registeredArguments.length === 0
    ? [['too', 'many', 'words']]
    : [...wrongValues, 'wl', 'wl/', 'wl/x', 'node/x', 'wl,', 'a/b/c', '--', 'wl/x:/y']
        .map((word) => needed.map((each) => (each === 'wl/x' ? word : each)))
        .concat([[], [...needed, 'x', 'y', 'z']]);

describe('every command', () => {
  const scratch = scratchDirectory('bad-input');
  const at = (name: string): string => join(scratch.path, name);
  let cli: Cli;
  beforeAll(async () => {
    cli = await startCli();
    for (const name of ['empty', 'directory']) mkdirSync(at(name));
    writeFileSync(at('broken.yaml'), 'a: [');
    writeFileSync(at('other.yaml'), '- just\n- a list\n');
    const config = readFileSync(cli.server.kubeconfig, 'utf8');
    writeFileSync(at('unreachable'), config.replaceAll(cli.server.url, 'https://127.0.0.1:1'));
    writeFileSync(at('no-user'), config.replace('"name": "admin"', '"name": "other"'));
  }, 60_000);
  afterAll(async () => {
    await cli.close();
    scratch.remove();
  });

  const endsOf = (name: string, cases: readonly Case[]): Promise<readonly CaseEnd[]> => {
    writeFileSync(at(`${name}.cases`), JSON.stringify(cases));
    const words = [
      fixturePath(import.meta.url, 'bad-input.fixture.js'),
      at(`${name}.cases`),
      at(`${name}.ends`),
    ];
    const child = spawn(process.execPath, words, { stdio: ['ignore', 'inherit', 'inherit'] });
    return new Promise((resolve, reject) => {
      child.once('close', (code) => {
        if (code === 0) resolve(JSON.parse(readFileSync(at(`${name}.ends`), 'utf8')) as CaseEnd[]);
        else reject(new Error(`${name} ended with ${code}`));
      });
    });
  };
  /** The ends that break the rules for all command lines. */
  const wrongEnds = (
    ends: readonly CaseEnd[],
    codes: ReadonlySet<number | undefined> = documented,
  ): readonly CaseEnd[] =>
    ends.filter(
      ({ status, output }) =>
        !codes.has(status) ||
        stack.test(output) ||
        output.includes('defect:') ||
        // Whatever went wrong is said.
        (status !== exitCodes.done && output.trim() === ''),
    );
  const caseWith = (words: readonly string[], config: string): Case => ({
    words,
    cwd: at('empty'),
    env: { BERTH_CONFIG: config, EDITOR: 'false' },
  });

  it('takes wrong values of its options without a stack trace, ends in time, and with a documented exit code', async () => {
    const cases = brief.flatMap((part) =>
      optionsOf(part).map((option) => caseWith([...part.path, ...part.needed, ...option], at('unreachable'))),
    );
    expect(cases.length).toBeGreaterThan(1_000);
    const ends = await endsOf('options', cases);
    expect(wrongEnds(ends)).toEqual([]);
    const empty = ends.filter(({ words }) => words.at(-1) === '');
    expect(new Set(empty.map(({ status }) => status)), 'an empty value').toEqual(new Set([exitCodes.usage]));
  }, 600_000);

  it('does the same with a server that answers, and with wrong arguments', async () => {
    const cases = brief.flatMap((part) =>
      [
        ...optionsOf(part).map((option) => [...part.needed, ...option, '--timeout', '1s']),
        ...argumentsOf(part),
      ].map((words) => caseWith([...part.path, ...words], cli.server.kubeconfig)),
    );
    expect(wrongEnds(await endsOf('served', cases))).toEqual([]);
  }, 600_000);

  const clients = brief.filter(({ command }) => command.options.some(({ long }) => long === '--server'));
  it('that talks to a server ends with 69 where none answers, and with 64 where the kubeconfig is wrong', async () => {
    expect(clients.length).toBeGreaterThan(25);
    const withConfig = (config: string, ...more: readonly string[]): readonly Case[] =>
      clients.map((part) => caseWith([...part.path, ...part.needed, ...more], config));
    const unreachable = [
      ...withConfig(at('unreachable')),
      ...withConfig(at('unreachable'), '--server', 'https://127.0.0.1:1,https://127.0.0.1:2'),
    ];
    // A command line that lacks something else ends with 64 before; version alone does without a server.
    const reached = new Set<number | undefined>([exitCodes.unreachable, exitCodes.usage]);
    const ends = (await endsOf('unreachable', unreachable)).filter(({ words }) => words[0] !== 'version');
    expect(wrongEnds(ends, reached)).toEqual([]);
    expect(ends.filter(({ status }) => status === exitCodes.unreachable).length).toBeGreaterThan(30);
    const wrong = [
      ...['broken.yaml', 'other.yaml', 'directory', 'missing', 'no-user'].flatMap((name) =>
        withConfig(at(name)),
      ),
      ...withConfig(''),
      ...withConfig(at('unreachable'), '--context', 'nowhere'),
      ...withConfig(at('unreachable'), '--config', ''),
      ...['', 'nonsense', 'http://127.0.0.1:1', 'https://a,', 'https://a:x'].flatMap((urls) =>
        withConfig(at('unreachable'), '--server', urls),
      ),
    ].filter(({ words }) => words[0] !== 'version');
    const usage = new Set<number | undefined>([exitCodes.usage]);
    expect(wrongEnds(await endsOf('kubeconfig', wrong), usage)).toEqual([]);
  }, 600_000);

  it.each(['apply -f', 'diff -f', 'delete -f', 'replay -f', 'apply -R -f'])(
    '%s says what is wrong with a file',
    async (words) => {
      const files = ['missing', 'directory', 'broken.yaml', 'other.yaml', 'empty', ''];
      const cases = files.map((file) =>
        caseWith([...words.split(' '), file === '' ? '' : at(file)], cli.server.kubeconfig),
      );
      const ends = await endsOf('files', cases);
      expect(wrongEnds(ends)).toEqual([]);
      expect(ends.filter(({ status }) => status === exitCodes.done)).toEqual([]);
    },
  );

  it('as a process of its own keeps these rules, also where it would go on', async () => {
    const wrong = ['', 'nonsense', nowhere, '/proc/version'];
    const ends: CaseEnd[] = [];
    const cases = all
      .filter(({ path: [name = ''] }) => lasting.includes(name))
      .flatMap((part) =>
        optionsOf(part)
          .filter(([, value]) => value !== undefined && wrong.includes(value))
          .map((option) => [...part.path, ...part.needed, ...option]),
      )
      .concat(brief.map(({ path, needed }) => [...path, ...needed]));
    const next = async (): Promise<void> => {
      for (let words = cases.pop(); words !== undefined; words = cases.pop()) {
        const dir = at(`process-${cases.length}`);
        mkdirSync(dir);
        const running = startBerth(words, { cwd: dir, env: { BERTH_CONFIG: at('unreachable') } });
        const timer = setInterval(() => {
          if (!hasStarted(running.printed())) return;
          // A value that is not wrong after all.
          clearInterval(timer);
          running.child.kill('SIGTERM');
        }, 50);
        const late = setTimeout(() => running.child.kill('SIGKILL'), 60_000);
        const { status, stdout, stderr } = await running.ended;
        clearInterval(timer);
        clearTimeout(late);
        ends.push({ words, status: status ?? undefined, output: stdout + stderr });
      }
    };
    await Promise.all([next(), next()]);
    expect(ends.length).toBeGreaterThan(100);
    expect(wrongEnds(ends)).toEqual([]);
    // An empty value is never accepted.
    const accepted = ends.filter(({ words, output }) => words.includes('') && hasStarted(output));
    expect(accepted.map(({ words }) => words)).toEqual([]);
  }, 600_000);

  const planted = (name: string, code: string): Readonly<Record<string, string>> => {
    writeFileSync(at(name), code);
    return { NODE_OPTIONS: `--require ${at(name)}` };
  };

  it('tells of an unexpected error in one line, with the place, and of the stack trace only to those who ask', async () => {
    const env = planted(
      'thrown.cjs',
      'Object.defineProperty(process.versions, "node", { get() { throw new TypeError("a\\nplanted defect"); } });',
    );
    const plain = await startBerth(['version'], { cwd: at('empty'), env }).ended;
    expect(plain).toMatchObject({ status: exitCodes.error, stdout: '' });
    expect(plain.stderr).toMatch(
      /^defect: a planted defect \(at .*\); BERTH_DEBUG=1 shows the stack trace\n$/,
    );
    const more = await startBerth(['version'], { cwd: at('empty'), env: { ...env, BERTH_DEBUG: '1' } }).ended;
    expect(more).toMatchObject({ status: exitCodes.error });
    expect(more.stderr).toMatch(stack);
  });

  it('ends in one line when an error escapes from a server that runs', async () => {
    const env = planted(
      'escaped.cjs',
      'setTimeout(() => { throw new TypeError("a planted escape"); }, 2_000);',
    );
    const words = ['up', '--no-agent', '--port', '0'];
    const ran = await startBerth(words, { cwd: at('empty'), env }).ended;
    expect(ran).toMatchObject({ status: exitCodes.error });
    expect(ran.stderr).toMatch(/^\S+ ERROR berth: defect: a planted escape \(at .*\)$/m);
    expect(ran.stderr).not.toMatch(stack);
  });
});

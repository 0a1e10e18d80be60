import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync, Visitor } from 'oxc-parser';

/** One TypeScript file of the project: what it imports, starts or names, and where it reaches for the machine. */
export interface SourceFile {
  /** From the root of the project, with slashes. */
  readonly path: string;
  readonly text: string;
  /** Project files it imports or starts as a worker, as paths. */
  readonly imports: readonly string[];
  readonly typeOnlyImports: readonly string[];
  /** Packages it imports, without `node:` ones. */
  readonly packages: readonly string[];
  /** Uses of clocks, timers and randomness: `line: what`. */
  readonly doors: readonly string[];
}

export const projectRoot = fileURLToPath(new URL('../../', import.meta.url));

export function readSources(): SourceFile[] {
  return ['src', 'bench', 'testing']
    .flatMap((folder) =>
      readdirSync(join(projectRoot, folder), { recursive: true }).map((file) => join(folder, String(file))),
    )
    .filter((path) => path.endsWith('.ts'))
    .toSorted()
    .map((path) => parseSource(path, readFileSync(join(projectRoot, path), 'utf8')));
}

const timerNames = new Set(['setTimeout', 'setInterval', 'setImmediate', 'performance']);
const clockCalls = new Map([
  ['Date', /^now$/],
  ['Math', /^random$/],
  ['process', /^(hrtime|uptime)$/],
  ['AbortSignal', /^timeout$/],
  ['crypto', /^(randomUUID|getRandomValues)$/],
]);
const clockModules = /^node:(timers|timers\/promises|perf_hooks)$/;
const randomImports = /^(random|getRandomValues)/;

export function parseSource(path: string, text: string): SourceFile {
  const { program, module, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);
  const imports: string[] = [];
  const typeOnlyImports: string[] = [];
  const packages: string[] = [];
  const doors: string[] = [];
  const door = (at: number, what: string): void =>
    void doors.push(`${path}:${text.slice(0, at).split('\n').length}: ${what}`);
  const reach = (specifier: string, isTypeOnly = false): void => {
    if (specifier.startsWith('.')) {
      const target = normalize(join(dirname(path), specifier)).replace(/\.js$/, '.ts');
      (isTypeOnly ? typeOnlyImports : imports).push(target);
    } else if (!specifier.startsWith('node:')) {
      packages.push(
        specifier
          .split('/')
          .slice(0, specifier.startsWith('@') ? 2 : 1)
          .join('/'),
      );
    }
  };

  for (const { moduleRequest, entries, start } of module.staticImports) {
    reach(moduleRequest.value, entries.length > 0 && entries.every((entry) => entry.isType));
    if (clockModules.test(moduleRequest.value)) door(start, `import of ${moduleRequest.value}`);
    if (moduleRequest.value === 'node:crypto' || moduleRequest.value === 'node:os') {
      for (const entry of entries) {
        const name = entry.importName.name ?? '*';
        if (randomImports.test(name) || name === 'uptime' || entry.importName.kind !== 'Name') {
          door(start, `${name} of ${moduleRequest.value}`);
        }
      }
    }
  }
  for (const { entries } of module.staticExports) {
    for (const { moduleRequest, isType } of entries) if (moduleRequest) reach(moduleRequest.value, isType);
  }
  new Visitor({
    ImportExpression(node) {
      if (node.source.type === 'Literal' && typeof node.source.value === 'string') reach(node.source.value);
    },
    NewExpression(node) {
      if (node.callee.type !== 'Identifier') return;
      // new URL('./worker.js', import.meta.url) names a file as much as an import does.
      const [first] = node.arguments;
      if (
        node.callee.name === 'URL' &&
        first?.type === 'Literal' &&
        typeof first.value === 'string' &&
        /^\..*\.js$/.test(first.value)
      ) {
        reach(first.value);
      }
      if (node.callee.name === 'Date' && node.arguments.length === 0) door(node.start, 'new Date()');
    },
    CallExpression(node) {
      if (node.callee.type === 'Identifier' && timerNames.has(node.callee.name))
        door(node.start, node.callee.name);
    },
    MemberExpression(node) {
      if (node.object.type !== 'Identifier' || node.property.type !== 'Identifier' || node.computed) return;
      const { name } = node.object;
      if (timerNames.has(name) || clockCalls.get(name)?.test(node.property.name)) {
        door(node.start, `${name}.${node.property.name}`);
      }
      if (
        name === 'globalThis' &&
        (timerNames.has(node.property.name) || clockCalls.has(node.property.name))
      ) {
        door(node.start, `globalThis.${node.property.name}`);
      }
    },
  }).visit(program);
  return { path, text, imports, typeOnlyImports, packages, doors };
}

/** The files that form a circle of imports, if there is one. Types vanish when compiled, but a circle of them is one too. */
export function findCycle(files: readonly SourceFile[]): readonly string[] | undefined {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const finished = new Set<string>();
  const visit = (path: string, trail: readonly string[]): readonly string[] | undefined => {
    if (trail.includes(path)) return [...trail.slice(trail.indexOf(path)), path];
    if (finished.has(path)) return undefined;
    const file = byPath.get(path);
    for (const next of [...(file?.imports ?? []), ...(file?.typeOnlyImports ?? [])]) {
      const cycle = visit(next, [...trail, path]);
      if (cycle !== undefined) return cycle;
    }
    finished.add(path);
    return undefined;
  };
  for (const file of files) {
    const cycle = visit(file.path, []);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}

/** Every file that can be reached from the given ones. */
export function reachableFrom(files: readonly SourceFile[], roots: readonly string[]): Set<string> {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const reached = new Set<string>();
  const queue = [...roots];
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    if (reached.has(path)) continue;
    reached.add(path);
    const file = byPath.get(path);
    queue.push(...(file?.imports ?? []), ...(file?.typeOnlyImports ?? []));
  }
  return reached;
}

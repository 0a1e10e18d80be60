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

// Names whose every use reaches for the machine's time or chance.
const doorNames = new Set(['setTimeout', 'setInterval', 'setImmediate', 'performance', 'webcrypto']);
// Names of which only these members are harmless.
const harmless: ReadonlyMap<string, RegExp> = new Map([
  ['Date', /^(parse|UTC|prototype)$/],
  ['Math', /^(?!random$)/],
  ['process', /^(?!hrtime$|uptime$|getBuiltinModule$)/],
  ['AbortSignal', /^(?!timeout$)/],
  ['crypto', /^$/],
  ['globalThis', /^$/],
]);
const doorModules = /^node:(timers|timers\/promises|perf_hooks|process|module)$/;
// Of these modules, only what matches is a door; a whole module always is.
const doorsOfModules: ReadonlyMap<string, RegExp> = new Map([
  ['node:crypto', /^(random|getRandomValues|webcrypto)/],
  ['node:os', /^uptime$/],
]);

export function parseSource(path: string, text: string): SourceFile {
  const { program, module, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);
  const imports: string[] = [];
  const typeOnlyImports: string[] = [];
  const packages: string[] = [];
  const doors: string[] = [];
  const door = (at: number, what: string): void =>
    void doors.push(`${path}:${text.slice(0, at).split('\n').length}: ${what}`);
  const reach = (
    at: number,
    specifier: string,
    isTypeOnly: boolean,
    names: readonly (string | undefined)[],
  ): void => {
    if (specifier.startsWith('.')) {
      const target = normalize(join(dirname(path), specifier)).replace(/\.js$/, '.ts');
      (isTypeOnly ? typeOnlyImports : imports).push(target);
      return;
    }
    if (!specifier.startsWith('node:')) {
      packages.push(
        specifier
          .split('/')
          .slice(0, specifier.startsWith('@') ? 2 : 1)
          .join('/'),
      );
      return;
    }
    const pattern = doorsOfModules.get(specifier);
    const isDoor =
      doorModules.test(specifier) ||
      (pattern !== undefined && names.some((name) => name === undefined || pattern.test(name)));
    if (isDoor && !isTypeOnly) door(at, `import of ${specifier}`);
  };

  for (const { moduleRequest, entries, start } of module.staticImports) {
    const isTypeOnly = entries.length > 0 && entries.every((entry) => entry.isType);
    reach(
      start,
      moduleRequest.value,
      isTypeOnly,
      entries.map((entry) => entry.importName.name ?? undefined),
    );
  }
  for (const { entries, start } of module.staticExports) {
    for (const { moduleRequest, isType, importName } of entries) {
      if (moduleRequest) reach(start, moduleRequest.value, isType, [importName.name ?? undefined]);
    }
  }
  // Where a name stands that its surroundings make harmless. Parents are visited before what they hold.
  const allowed = new Set<number>();
  new Visitor({
    ImportExpression(node) {
      if (node.source.type === 'Literal' && typeof node.source.value === 'string') {
        reach(node.start, node.source.value, false, [undefined]);
      }
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
        reach(node.start, first.value, false, []);
      }
      // A date that is given its time only formats it.
      if (node.callee.name === 'Date' && node.arguments.length > 0) allowed.add(node.callee.start);
    },
    MemberExpression(node) {
      const { object, property, computed } = node;
      if (property.type === 'Identifier' && !computed) allowed.add(property.start);
      if (object.type !== 'Identifier' || property.type !== 'Identifier' || computed) return;
      if (harmless.get(object.name)?.test(property.name)) allowed.add(object.start);
    },
    Property(node) {
      if (node.key.type === 'Identifier' && !node.computed && !node.shorthand) allowed.add(node.key.start);
    },
    TSTypeReference(node) {
      if (node.typeName.type === 'Identifier') allowed.add(node.typeName.start);
    },
    BinaryExpression(node) {
      if (node.operator === 'instanceof' && node.right.type === 'Identifier') allowed.add(node.right.start);
    },
    Identifier(node) {
      const isDoor = doorNames.has(node.name) || harmless.has(node.name);
      if (isDoor && !allowed.has(node.start)) door(node.start, node.name);
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

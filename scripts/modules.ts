/**
 * The modules of src/ and what each may import, as the table of ARCHITECTURE.md has them.
 * `node scripts/modules.ts` lists the imports that the table forbids; `npm run check` runs it.
 */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { argumentsOf } from './arguments.ts';

/** A row of the table. */
export interface Module {
  /** Below src/, as `trust` or `exposure/csi`. A file belongs to the longest path that its own begins with. */
  readonly path: string;
  /** Modules, and single files such as `router/contract.ts`; undefined: all. */
  readonly imports: readonly string[] | undefined;
  /** Packages from outside; Node's own modules are not among them. */
  readonly packages: readonly string[];
  /** Touches neither file nor socket nor clock. */
  readonly pure: boolean;
}

/** An import of a file below src/, type imports included. */
export interface Import {
  readonly file: string;
  readonly specifier: string;
}

const ROOT = join(import.meta.dirname, '..');
const TABLE = 'ARCHITECTURE.md';
const ROW = /^\| `([^`]+?)\/?` \|([^|]*)\|([^|]*)\|([^|]*)\|$/gm;
const IN_CODE = /`([^`]+)`/g;
const SPECIFIER = /(?:\bfrom |\bimport\(|^import )'([^']+)'/gm;

const IMPURE: ReadonlySet<string> = new Set([
  'node:child_process',
  'node:fs',
  'node:fs/promises',
  'node:http',
  'node:https',
  'node:timers',
  'node:timers/promises',
  'node:tls',
]);

export function readModules(table: string = readFileSync(join(ROOT, TABLE), 'utf8')): readonly Module[] {
  return [...table.matchAll(ROW)].map(([, path = '', holds = '', imports = '', packages = '']) => ({
    path,
    imports: imports.trim() === 'all' ? undefined : namesIn(imports),
    packages: namesIn(packages),
    pure: /: pure\s*$/.test(holds),
  }));
}

const namesIn = (cell: string): readonly string[] => [...cell.matchAll(IN_CODE)].map(([, name = '']) => name);

/** The module of a file, whose path is below src/. */
export function moduleOf(file: string, modules: readonly Module[]): Module | undefined {
  return modules
    .filter(({ path }) => file === path || file.startsWith(`${path}/`))
    .toSorted((a, b) => b.path.length - a.path.length)
    .at(0);
}

export function sourceFiles(root = ROOT): readonly string[] {
  return globSync('**/*.{ts,tsx}', { cwd: join(root, 'src') }).toSorted();
}

export function importsOf(files: readonly string[], root = ROOT): readonly Import[] {
  return files.flatMap((file) =>
    [...readFileSync(join(root, 'src', file), 'utf8').matchAll(SPECIFIER)].map(([, specifier = '']) => ({ file, specifier })),
  );
}

/** The file below src/ that is imported; undefined for a package. */
export function targetOf({ file, specifier }: Import): string | undefined {
  return specifier.startsWith('.') ? normalize(join(dirname(file), specifier)) : undefined;
}

/** One line for each import that the table forbids. */
export function findForbiddenImports(imports: readonly Import[], modules: readonly Module[]): readonly string[] {
  return imports.flatMap((each) => {
    const from = moduleOf(each.file, modules);
    const reason = from === undefined ? `${TABLE} has no row for it` : reasonAgainst(from, each, modules);
    return reason === undefined ? [] : [`src/${each.file} may not import ${each.specifier}: ${reason}.`];
  });
}

function reasonAgainst(from: Module, imported: Import, modules: readonly Module[]): string | undefined {
  const { specifier } = imported;
  const target = targetOf(imported);
  if (target !== undefined) {
    const isData = !/\.tsx?$/.test(target);
    return isData || mayImport(from, target, modules) ? undefined : `the row of ${from.path} in ${TABLE} does not name it`;
  }
  if (specifier.startsWith('node:')) return from.pure && IMPURE.has(specifier) ? `src/${from.path} is pure` : undefined;
  return from.packages.includes(packageOf(specifier)) ? undefined : `the row of ${from.path} in ${TABLE} does not name the package`;
}

function mayImport(from: Module, file: string, modules: readonly Module[]): boolean {
  const to = moduleOf(file, modules);
  if (to === undefined) return false;
  return from.imports === undefined || to === from || from.imports.includes(to.path) || from.imports.includes(file);
}

const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

if (import.meta.main) {
  argumentsOf('node scripts/modules.ts', {});
  const forbidden = findForbiddenImports(importsOf(sourceFiles()), readModules());
  for (const line of forbidden) console.error(line);
  if (forbidden.length > 0) process.exitCode = 1;
}

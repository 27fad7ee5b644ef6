/**
 * The modules of src/ and what each may import, as the table "Where things are" in CONTRIBUTING.md has them.
 * `node scripts/rooms.ts` lists the imports that the table forbids; `npm run check` runs it.
 */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { argumentsOf } from './arguments.ts';

/** A row of the table. */
export interface Room {
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
const TABLE = 'CONTRIBUTING.md';
const ROW = /^\| `src\/([^`]+?)\/?` \|([^|]*)\|([^|]*)\|([^|]*)\|$/gm;
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

export function readRooms(table: string = readFileSync(join(ROOT, TABLE), 'utf8')): readonly Room[] {
  return [...table.matchAll(ROW)].map(([, path = '', holds = '', imports = '', packages = '']) => ({
    path,
    imports: imports.trim() === 'all' ? undefined : namesIn(imports),
    packages: namesIn(packages),
    pure: /: pure\s*$/.test(holds),
  }));
}

const namesIn = (cell: string): readonly string[] => [...cell.matchAll(IN_CODE)].map(([, name = '']) => name);

/** The module of a file, whose path is below src/. */
export function roomOf(file: string, rooms: readonly Room[]): Room | undefined {
  return rooms
    .filter(({ path }) => file === path || file.startsWith(`${path}/`))
    .toSorted((a, b) => b.path.length - a.path.length)
    .at(0);
}

export function sourceFiles(root = ROOT): readonly string[] {
  return globSync('**/*.ts', { cwd: join(root, 'src') }).toSorted();
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
export function findForbiddenImports(imports: readonly Import[], rooms: readonly Room[]): readonly string[] {
  return imports.flatMap((each) => {
    const from = roomOf(each.file, rooms);
    const reason = from === undefined ? `${TABLE} has no row for it` : reasonAgainst(from, each, rooms);
    return reason === undefined ? [] : [`src/${each.file} may not import ${each.specifier}: ${reason}.`];
  });
}

function reasonAgainst(from: Room, imported: Import, rooms: readonly Room[]): string | undefined {
  const { specifier } = imported;
  const target = targetOf(imported);
  if (target !== undefined) {
    const isData = !target.endsWith('.ts');
    return isData || mayImport(from, target, rooms) ? undefined : `the row of src/${from.path} in ${TABLE} does not name it`;
  }
  if (specifier.startsWith('node:')) return from.pure && IMPURE.has(specifier) ? `src/${from.path} is pure` : undefined;
  return from.packages.includes(packageOf(specifier)) ? undefined : `the row of src/${from.path} in ${TABLE} does not name the package`;
}

function mayImport(from: Room, file: string, rooms: readonly Room[]): boolean {
  const to = roomOf(file, rooms);
  if (to === undefined) return false;
  return from.imports === undefined || to === from || from.imports.includes(to.path) || from.imports.includes(file);
}

const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

if (import.meta.main) {
  argumentsOf('node scripts/rooms.ts', {});
  const forbidden = findForbiddenImports(importsOf(sourceFiles()), readRooms());
  for (const line of forbidden) console.error(line);
  if (forbidden.length > 0) process.exitCode = 1;
}

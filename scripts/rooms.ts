/**
 * The rooms of src/ and what each may import, as CONTRIBUTING.md has them in its table "Where things are": lint and tests
 * follow what is written there.
 */
import { readFileSync } from 'node:fs';

/** A row of the table. */
export interface Room {
  /** Below src/, as `trust` or `exposure/csi`. The longest that a file's path begins with is its room. */
  readonly path: string;
  /** Rooms, and single files as `router/contract.ts`; undefined: all. */
  readonly imports: readonly string[] | undefined;
  /** Packages from outside; Node's own modules are not among them. */
  readonly packages: readonly string[];
  /** Touches neither file nor socket nor clock. */
  readonly pure: boolean;
}

const ROW = /^\| `src\/([^`]+?)\/?` \|([^|]*)\|([^|]*)\|([^|]*)\|$/gm;
const IN_CODE = /`([^`]+)`/g;

/** What is not for rooms that are pure. */
export const IMPURE = [
  'node:child_process',
  'node:fs',
  'node:fs/promises',
  'node:http',
  'node:https',
  'node:timers',
  'node:timers/promises',
  'node:tls',
];

export function readRooms(contributing: string = readFileSync(new URL('../CONTRIBUTING.md', import.meta.url), 'utf8')): readonly Room[] {
  return [...contributing.matchAll(ROW)].map(([, path = '', holds = '', imports = '', packages = '']) => ({
    path,
    imports: imports.trim() === 'all' ? undefined : namesIn(imports),
    packages: namesIn(packages),
    pure: /: pure\s*$/.test(holds),
  }));
}

const namesIn = (cell: string): readonly string[] => [...cell.matchAll(IN_CODE)].map(([, name = '']) => name);

/** The room of a file, whose path is below src/. */
export function roomOf(file: string, rooms: readonly Room[]): Room | undefined {
  return rooms
    .filter(({ path }) => file === path || file.startsWith(`${path}/`))
    .toSorted((a, b) => b.path.length - a.path.length)
    .at(0);
}

export function mayImport(from: Room, file: string, rooms: readonly Room[]): boolean {
  const to = roomOf(file, rooms);
  if (to === undefined) return false;
  return from.imports === undefined || to === from || from.imports.includes(to.path) || from.imports.includes(file);
}

/** Lint rules in the words of oxlint, for an editor to show: the tests hold the same table more exactly. */
export function roomRules(rooms: readonly Room[] = readRooms()): string {
  const packages = [...new Set(rooms.flatMap((room) => room.packages))].toSorted();
  // Where two match a file, the later one counts.
  const overrides = rooms
    .toSorted((a, b) => a.path.length - b.path.length)
    .map((room) => ({
      files: [room.path.endsWith('.ts') ? `src/${room.path}` : `src/${room.path}/**`],
      rules: { 'no-restricted-imports': ['error', { paths: forbiddenPackages(room, packages), patterns: forbiddenRooms(room, rooms) }] },
    }));
  return `{"plugins":[],"overrides":[\n${overrides.map((one) => JSON.stringify(one)).join(',\n')}\n]}\n`;
}

function forbiddenPackages(room: Room, packages: readonly string[]): readonly object[] {
  const foreign = packages.filter((name) => !room.packages.includes(name));
  return [
    ...foreign.map((name) => ({ name, message: `src/${room.path} does without ${name}: see the table in CONTRIBUTING.md.` })),
    ...(room.pure ? IMPURE.map((name) => ({ name, message: `src/${room.path} is pure.` })) : []),
  ];
}

function forbiddenRooms(room: Room, rooms: readonly Room[]): readonly object[] {
  const { imports } = room;
  if (imports === undefined) return [];
  return rooms
    .filter((other) => other !== room && !imports.includes(other.path))
    .map((other) => ({
      ...pathsTo(
        other.path,
        imports.filter((file) => file.startsWith(`${other.path}/`)),
      ),
      message: `src/${room.path} does not know src/${other.path}: see the table in CONTRIBUTING.md.`,
    }));
}

/** `exposure/csi` is `../csi/` to its neighbours, and no `api/csi/`. Where single files are excepted, globs say so. */
function pathsTo(path: string, excepted: readonly string[]): object {
  if (excepted.length > 0) return { group: [`**/${path}/**`, ...excepted.map((file) => `!**/${file}`)] };
  if (path.endsWith('.ts')) return { regex: `^(?:\\.\\./)+${path.replaceAll('.', '\\.')}$` };
  const [last = '', ...parents] = path.split('/').toReversed();
  const parent = parents.length === 0 ? '' : `(?:${parents.toReversed().join('/')}/)?`;
  return { regex: `^(?:\\.\\./)+${parent}${last}/` };
}

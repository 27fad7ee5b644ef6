import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, it } from 'node:test';
import { IMPURE, mayImport, readRooms, roomOf } from '../../../scripts/rooms.ts';
import { root } from './documents.ts';

const SPECIFIER = /(?:\bfrom |\bimport\(|^import )'([^']+)'/gm;

interface Import {
  readonly file: string;
  readonly specifier: string;
}

const rooms = readRooms();
const files = globSync('**/*.ts', { cwd: join(root, 'src') }).toSorted();
/** Also what only types are imported from. */
const imports: readonly Import[] = files.flatMap((file) =>
  [...readFileSync(join(root, 'src', file), 'utf8').matchAll(SPECIFIER)].map(([, specifier = '']) => ({ file, specifier })),
);
const inside = imports
  .filter(({ specifier }) => specifier.startsWith('.'))
  .map(({ file, specifier }) => ({ file, to: normalize(join(dirname(file), specifier)) }))
  .filter(({ to }) => to.endsWith('.ts'));

describe('the rooms of src/', () => {
  it('are all in the table of CONTRIBUTING.md, and each row is a room', () => {
    assert.deepEqual(
      files.filter((file) => roomOf(file, rooms) === undefined),
      [],
    );
    const inhabited = new Set(files.map((file) => roomOf(file, rooms)));
    assert.deepEqual(
      rooms.filter((room) => !inhabited.has(room)),
      [],
    );
  });

  it('import only what their rows name', () => {
    assert.ok(inside.length > 1000, `${inside.length} imports`);
    const wrong = inside.filter(({ file, to }) => {
      const room = roomOf(file, rooms);
      return room !== undefined && !mayImport(room, to, rooms);
    });
    assert.deepEqual(wrong, []);
  });

  it('have rows that name nothing they do not import', () => {
    const unused = rooms.flatMap((room) => {
      const used = inside.filter(({ file }) => roomOf(file, rooms) === room).map(({ to }) => to);
      return (room.imports ?? [])
        .filter((name) => !used.some((to) => to === name || roomOf(to, rooms)?.path === name))
        .map((name) => `${room.path}: ${name}`);
    });
    assert.deepEqual(unused, []);
  });

  it('import only the packages of their rows, and nothing impure where they are pure', () => {
    const packages = imports.filter(({ specifier }) => !specifier.startsWith('.'));
    const wrong = packages.filter(({ file, specifier }) => {
      const room = roomOf(file, rooms);
      if (specifier.startsWith('node:')) return room?.pure === true && IMPURE.includes(specifier);
      return !(room?.packages ?? []).includes(packageOf(specifier));
    });
    assert.deepEqual(wrong, []);
  });

  it('have no row that a lower one needs: arrows between them point one way', () => {
    const needs = new Map(rooms.map((room) => [room.path, new Set<string>()]));
    for (const { file, to } of inside) {
      const [from, target] = [roomOf(file, rooms)?.path ?? '', roomOf(to, rooms)?.path ?? ''];
      if (from !== target) needs.get(from)?.add(target);
    }
    assert.deepEqual(circleIn(needs), undefined);
  });

  it('hold no files that import each other in a circle', () => {
    const needs = new Map(files.map((file) => [file, new Set<string>()]));
    for (const { file, to } of inside) needs.get(file)?.add(to);
    assert.deepEqual(circleIn(needs), undefined);
  });
});

const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

/** The first circle that is found, as a path that ends where it began. */
function circleIn(needs: ReadonlyMap<string, ReadonlySet<string>>): readonly string[] | undefined {
  const done = new Set<string>();
  const walk = (node: string, path: readonly string[]): readonly string[] | undefined => {
    const start = path.indexOf(node);
    if (start !== -1) return [...path.slice(start), node];
    if (done.has(node)) return undefined;
    for (const next of needs.get(node) ?? []) {
      const circle = walk(next, [...path, node]);
      if (circle !== undefined) return circle;
    }
    done.add(node);
    return undefined;
  };
  for (const node of needs.keys()) {
    const circle = walk(node, []);
    if (circle !== undefined) return circle;
  }
  return undefined;
}

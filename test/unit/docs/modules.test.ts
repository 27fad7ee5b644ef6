import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findForbiddenImports, importsOf, readModules, moduleOf, sourceFiles, targetOf } from '../../../scripts/modules.ts';

const modules = readModules();
const files = sourceFiles();
const imports = importsOf(files);
const inside = imports.flatMap((each) => {
  const to = targetOf(each);
  return to?.endsWith('.ts') === true ? [{ file: each.file, to }] : [];
});

describe('the modules of src/', () => {
  it('are all in the table of ARCHITECTURE.md, and each row is a module', () => {
    assert.deepEqual(
      files.filter((file) => moduleOf(file, modules) === undefined),
      [],
    );
    const inhabited = new Set(files.map((file) => moduleOf(file, modules)));
    assert.deepEqual(
      modules.filter((module) => !inhabited.has(module)),
      [],
    );
  });

  it('import only the modules and packages of their rows', () => {
    assert.ok(inside.length > 1000, `${inside.length} imports`);
    assert.deepEqual(findForbiddenImports(imports, modules), []);
  });

  it('have rows that name nothing they do not import', () => {
    const unused = modules.flatMap((module) => {
      const used = inside.filter(({ file }) => moduleOf(file, modules) === module).map(({ to }) => to);
      return (module.imports ?? [])
        .filter((name) => !used.some((to) => to === name || moduleOf(to, modules)?.path === name))
        .map((name) => `${module.path}: ${name}`);
    });
    assert.deepEqual(unused, []);
  });

  it('have no row that a lower one needs: arrows between them point one way', () => {
    const needs = new Map(modules.map((module) => [module.path, new Set<string>()]));
    for (const { file, to } of inside) {
      const [from, target] = [moduleOf(file, modules)?.path ?? '', moduleOf(to, modules)?.path ?? ''];
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

describe('findForbiddenImports', () => {
  const table = readModules(
    ['| `low/` | rules: pure | | |', '| `high/` | actions | `low/one.ts` | `yaml` |', '| `cli/` | commands | all | |'].join('\n'),
  );
  const find = (file: string, specifier: string): readonly string[] => findForbiddenImports([{ file, specifier }], table);

  it('allows files of the module, files and packages that its row names, and all where the row says so', () => {
    for (const [file, specifier] of [
      ['high/a.ts', './b.ts'],
      ['high/deep/a.ts', '../../low/one.ts'],
      ['high/a.ts', 'yaml'],
      ['high/a.ts', 'node:fs'],
      ['low/one.ts', 'node:path'],
      ['cli/main.ts', '../high/a.ts'],
    ] as const)
      assert.deepEqual(find(file, specifier), [], `${file} ${specifier}`);
  });

  it('reports modules, files and packages that no row names, and Node modules that are impure', () => {
    for (const [file, specifier] of [
      ['low/one.ts', '../high/a.ts'],
      ['high/a.ts', '../low/two.ts'],
      ['high/a.ts', '../cli/main.ts'],
      ['high/a.ts', 'undici'],
      ['low/one.ts', 'node:fs'],
      ['cli/main.ts', 'yaml'],
      ['elsewhere/a.ts', './b.ts'],
    ] as const)
      assert.equal(find(file, specifier).length, 1, `${file} ${specifier}`);
  });
});

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

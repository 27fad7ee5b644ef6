import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { customResourceDefinitions } from '../../../src/api/listeners/crds.ts';
import { isSkupperKind, problemText, validateResource } from '../../../src/api/skupper/validate.ts';
import { isRecord } from '../../../src/text/is-record.ts';
import { documentedManifests } from '../../e2e/documented-manifests.ts';
import { EXAMPLE_IMAGES } from '../../harness/example-images.ts';
import { commandsIn, problemOf } from './commands.ts';
import { anchorOf, codeLines, codeSpans, documents, headings, relativeLinks, root, type Document } from './documents.ts';

const all = documents();
const code = (document: Document): readonly string[] => [...codeLines(document), ...codeSpans(document)];
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

describe('the documents', () => {
  it('are found', () => {
    const paths = new Set(all.map(({ path }) => path));
    for (const path of ['README.md', 'docs/concepts-connection.md', 'examples/README.md']) assert.ok(paths.has(path), path);
  });

  it('link only to files and headings that are there', () => {
    const anchors = new Map(all.map((document) => [document.path, new Set(headings(document).map(anchorOf))]));
    const links = all.flatMap((document) => relativeLinks(document).map((target) => ({ from: document.path, target })));
    assert.ok(links.length > 50, `${links.length} links`);
    const broken = links.flatMap(({ from, target }) => {
      const [file = '', anchor] = target.split('#', 2);
      const path = file === '' ? from : normalize(join(dirname(from), file));
      if (!existsSync(join(root, path))) return [`${from}: there is no ${path}`];
      const known = anchors.get(path);
      return anchor === undefined || known === undefined || known.has(anchor) ? [] : [`${from}: ${path} has no heading #${anchor}`];
    });
    assert.deepEqual(broken, []);
  });

  it('name only files of the program and its tests that there are', () => {
    const named = all
      .filter(({ path }) => path !== 'CHANGELOG.md')
      .flatMap(({ path, text }) =>
        [...text.matchAll(/`((?:src|test|scripts|bench|deploy)\/[\w./-]*[\w/])`/g)].map(([, file = '']) => ({ path, file })),
      );
    assert.ok(named.length > 100, `${named.length} files`);
    assert.deepEqual(
      named.filter(({ file }) => !existsSync(join(root, file))),
      [],
    );
  });

  it('are those that comments and messages of the program refer to', () => {
    const files = globSync('{src,bench,scripts,test,deploy}/**/*.{ts,yaml,tpl,sh,go}', { cwd: root });
    const named = files.flatMap((file) => [...read(file).matchAll(/\bdocs\/[\w./-]*\w\.md\b/g)].map(([path]) => ({ file, path })));
    assert.ok(named.length > 20, `${named.length} references`);
    // Tests of the tests themselves make up documents of their own.
    const broken = named.filter(({ file, path }) => !file.startsWith('test/unit/') && !existsSync(join(root, path)));
    assert.deepEqual(broken, []);
  });

  it('show the columns that kubectl does', () => {
    const columnsOf = new Map(
      customResourceDefinitions().map(({ spec: { names, versions } }) => {
        const shown = versions[0]?.additionalPrinterColumns.filter(({ priority = 0 }) => priority === 0) ?? [];
        return [names.plural, ['NAME', ...shown.map(({ name }) => name.toUpperCase())]];
      }),
    );
    const tables = all.flatMap((document) => {
      const lines = codeLines(document);
      return lines.flatMap((line, index) => {
        const plural = /^\$ kubectl get (\w+)$/.exec(line.trim())?.[1] ?? '';
        return columnsOf.has(plural) ? [{ plural, head: (lines[index + 1] ?? '').trim().split(/ {2,}/) }] : [];
      });
    });
    assert.notEqual(tables.length, 0);
    for (const { plural, head } of tables) assert.deepEqual(head, columnsOf.get(plural));
  });

  it('name only make targets that there are', () => {
    const targets = new Set([...read('Makefile').matchAll(/^([a-z][a-z-]*):/gm)].map(([, target = '']) => target));
    // The manual's words are no shell.
    const named = all
      .filter(({ path }) => path !== 'docs/reference/cli.md')
      .flatMap((document) => code(document).map((line) => /^(?:\$ )?(?:sudo )?(?:\w+=\S+ )*make ([a-z][a-z-]*)/.exec(line)?.[1]))
      .filter((target) => target !== undefined);
    assert.ok(named.includes('demo'), named.join(' '));
    assert.deepEqual(
      named.filter((target) => !targets.has(target)),
      [],
    );
  });

  it('show only commands and options that earshot has', () => {
    const shown = all.flatMap((document) =>
      code(document)
        .flatMap(commandsIn)
        .map((command) => ({ path: document.path, command })),
    );
    assert.ok(shown.length > 100, `${shown.length} commands`);
    const wrong = shown.flatMap(({ path, command }) => {
      const problem = problemOf(command);
      return problem === undefined ? [] : [`${path}: earshot ${command.join(' ')}: ${problem}`];
    });
    assert.deepEqual(wrong, []);
  });

  it('set only values that the chart has', () => {
    const values: unknown = parse(read('deploy/chart/values.yaml'));
    const has = (path: string): boolean =>
      path.split('.').reduce<unknown>((at, part) => (isRecord(at) ? at[part] : undefined), values) !== undefined;
    const set = all.flatMap(({ path, text }) => [...text.matchAll(/--set[ =]'?([\w.]+)=/g)].map(([, value = '']) => ({ path, value })));
    assert.ok(set.length > 5, `${set.length} values`);
    assert.deepEqual(
      set.filter(({ value }) => !has(value)),
      [],
    );
  });

  it('have kubectl ask only for objects of sites that there are', () => {
    const source = globSync('{src,deploy/chart}/**/*.{ts,yaml,tpl}', { cwd: root }).map(read).join('\n');
    const known = new Set(source.match(/(?<=['"/ ])skupper-[a-z0-9-]+(?=['"\s])/g));
    const asked = all.flatMap(({ path, text }) => {
      const commands = text
        .replaceAll('\\\n', ' ')
        .split('\n')
        .filter((line) => /\bkubectl\b/.test(line));
      const names = commands.flatMap((line) => line.match(/(?<=[\s/`=])skupper-[a-z-]+[a-z0-9]/g) ?? []);
      return names.map((name) => ({ path, name }));
    });
    assert.ok(asked.length > 10, `${asked.length} names`);
    assert.deepEqual(
      asked.filter(({ name }) => !known.has(name)),
      [],
    );
  });

  it('name only metrics that are measured', () => {
    const source = globSync('src/**/*.ts', { cwd: root }).map(read).join('\n');
    // Some names are put together: `earshot_router_links_${direction}_bytes_total`.
    const names = new Set(source.match(/\bearshot_(?:[a-z_]|\$\{\w+\})+/g));
    const known = [...names].map((name) => new RegExp(`^${name.replaceAll(/\$\{\w+\}/g, '[a-z]+')}(?:_(?:bucket|sum|count))?$`));
    const examples = globSync('examples/**/*.{yaml,yml}', { cwd: root }).map((path) => ({ path, text: read(path) }));
    const shown = [...all, ...examples].flatMap(({ path, text }) =>
      [...new Set(text.match(/\bearshot_[a-z_]*[a-z]/g))].map((name) => ({ path, name })),
    );
    assert.ok(shown.some(({ path }) => path === 'examples/connection/alerts.yaml'));
    const unknown = shown.filter(({ name }) => !known.some((pattern) => pattern.test(name)));
    assert.deepEqual(unknown, []);
  });

  it('and the examples run only images that a cluster of `make cluster` has', () => {
    const images = globSync('examples/**/*.yaml', { cwd: root }).flatMap((path) =>
      [...read(path).matchAll(/^\s*image: (\S+)$/gm)].map(([, image]) => image),
    );
    assert.deepEqual([...new Set(images)].toSorted(), EXAMPLE_IMAGES);
  });

  it('and the examples show resources of the connection half that are valid to the last field', () => {
    const ours = documentedManifests().filter(
      ({ manifest }) => isSkupperKind(manifest.kind) && manifest.apiVersion.startsWith('skupper.io/'),
    );
    assert.ok(ours.some(({ file }) => file.startsWith('examples/connection/')));
    const problems = ours.flatMap(({ file, manifest }) =>
      validateResource(manifest).problems.map((problem) => `${file}: ${manifest.kind}: ${problemText(problem)}`),
    );
    assert.deepEqual(problems, []);
  });
});

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { ACCESS_TYPES } from '../../../src/site-controller/access/access-type.ts';
import { NODE_DRIVER_FLAGS, NODE_FLAGS } from '../../../scripts/image/node-flags.ts';

const CHART = path.resolve(import.meta.dirname, '../../../deploy/chart');
const SOURCE = path.resolve(CHART, '../../src');
const read = (at: string): string => readFileSync(path.join(CHART, at), 'utf8');

type Schema = {
  readonly $ref?: string;
  readonly deprecated?: boolean;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: unknown;
};

test('every value in the schema, but for names of another chart, has a default and a place in values.yaml', () => {
  const schema = JSON.parse(read('values.schema.json')) as Schema & { readonly definitions: Readonly<Record<string, Schema>> };
  const missing: string[] = [];
  const visit = (at: string, part: Schema, value: unknown): void => {
    const resolved = part.$ref === undefined ? part : schema.definitions[part.$ref.replace('#/definitions/', '')];
    if (resolved?.additionalProperties !== false || part.$ref === '#/definitions/resources') return;
    for (const [key, inner] of Object.entries(resolved.properties ?? {})) {
      if (inner.deprecated === true) continue;
      const present =
        typeof value === 'object' && value !== null && key in value ? Object.entries(value).find(([name]) => name === key)?.[1] : undefined;
      if (present === undefined && key !== 'global') missing.push(`${at}.${key}`);
      else visit(`${at}.${key}`, inner, present);
    }
  };
  visit('values', schema, parse(read('values.yaml')));
  assert.deepEqual(missing, []);
});

test('every value that another chart’s name is accepted for has a new name, or a reason why it has none', () => {
  const schema = JSON.parse(read('values.schema.json')) as Schema & { readonly definitions: Readonly<Record<string, Schema>> };
  const tables = read('templates/_old-values.tpl').matchAll(/^([a-zA-Z.]+): \S/gm);
  // Options with `enabled` are named once, by that.
  const known = [...tables].map(([, name = '']) => name.replace(/\.enabled$/, ''));
  const silent: string[] = [];
  const visit = (at: string, part: Schema): void => {
    if (known.some((name) => at === name || at.startsWith(`${name}.`))) return;
    const { properties } = part.$ref === undefined ? part : (schema.definitions[part.$ref.replace('#/definitions/', '')] ?? part);
    if (properties === undefined) silent.push(at);
    for (const [key, inner] of Object.entries(properties ?? {})) visit(`${at}.${key}`, inner);
  };
  for (const [key, part] of Object.entries(schema.properties ?? {})) if (part.deprecated === true) visit(key, part);
  assert.ok(known.length > 30);
  // NOTES.txt says of it in words of its own that logs are always written.
  assert.deepEqual(silent, ['telemetry.consoleLog.enabled']);
});

test('every template takes values under their old names before it reads any', () => {
  const all = readdirSync(path.join(CHART, 'templates'), { recursive: true, encoding: 'utf8' });
  const templates = all.filter((file) => /\.(?:yaml|txt)$/.test(file));
  assert.ok(templates.length > 10);
  const late = templates.filter((file) => !read(`templates/${file}`).startsWith('{{- include "earshot.takeOldValues" . }}\n'));
  assert.deepEqual(late, []);
});

test('the chart has the version of the program', () => {
  const { version } = JSON.parse(readFileSync(path.join(CHART, '../../package.json'), 'utf8')) as { version: string };
  const chart = parse(read('Chart.yaml')) as { version: string; appVersion: string };
  assert.deepEqual([chart.version, chart.appVersion], [version, version]);
});

test('dashboards and alerts ask only for metrics that are served', () => {
  const source = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
    .filter((at) => at.endsWith('.ts'))
    .map((at) => readFileSync(path.join(SOURCE, at), 'utf8'))
    .join('\n')
    // Some names are put together.
    .replaceAll(/`(earshot_\w+)\$\{direction\}(\w+)`/g, "'$1sent$2' '$1received$2'");
  const files = ['dashboards', 'alerts'].flatMap((folder) =>
    readdirSync(path.join(CHART, 'files', folder)).map((file) => `files/${folder}/${file}`),
  );
  assert.equal(files.length, 5);
  const asked = new Set(files.flatMap((file) => read(file).match(/\bearshot_[a-z_]+/g) ?? []));
  const served = (name: string): boolean => source.includes(`'${name.replace(/_(bucket|count|sum)$/, '')}'`);
  assert.deepEqual(
    [...asked].filter((name) => !served(name)),
    [],
  );
});

test('the driver is started as the image starts everything, with its own flags besides', () => {
  const command = /^ +command:\n((?: +- .*\n)+)/m.exec(read('templates/node.yaml'))?.[1] ?? '';
  assert.deepEqual(parse(command), ['/usr/local/bin/node', ...NODE_FLAGS, ...NODE_DRIVER_FLAGS, '/app/earshot.mjs']);
});

test('the chart takes the types of access that the controller knows, and no other', () => {
  const schema = JSON.parse(read('values.schema.json')) as {
    readonly properties: { readonly connection: { readonly properties: { readonly defaultAccessType: { readonly pattern: string } } } };
    readonly definitions: {
      readonly accessTypes: {
        readonly anyOf: readonly { readonly pattern?: string; readonly items?: { readonly enum: readonly string[] } }[];
      };
    };
  };
  const usual = new RegExp(schema.properties.connection.properties.defaultAccessType.pattern);
  const [asText, asList] = schema.definitions.accessTypes.anyOf;
  assert.deepEqual(asList?.items?.enum, [...ACCESS_TYPES]);
  for (const type of [...ACCESS_TYPES, '', 'listenerclass:public']) assert.match(type, usual);
  for (const type of ['nodeprt', 'listenerclass:', 'local,route', 'Local']) assert.doesNotMatch(type, usual);
  const text = new RegExp(asText?.pattern ?? assert.fail());
  assert.match(ACCESS_TYPES.join(','), text);
  assert.doesNotMatch('local,nodeprt', text);
});

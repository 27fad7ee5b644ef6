import assert from 'node:assert/strict';
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { writeStaticLinks, type StaticLink } from '../../../src/agent/offline-links.ts';
import { layoutOf } from '../../../src/platform/linux/layout.ts';
import { makeNamespace } from '../../../src/platform/linux/site.ts';
import { OfflineLinkFiles } from '../../../src/platform/linux/offline-links.ts';
import { parseYaml } from '../../../src/text/yaml.ts';

const bundle = { name: 'client-far', cert: 'CERT', key: 'KEY', ca: 'CA' };
const aLink = (host: string, content: Partial<StaticLink> = {}): StaticLink => ({
  name: 'link-far',
  host,
  content: { endpoints: [{ name: 'inter-router', host, port: '55671' }], bundle },
  ...content,
});

async function aDirectory(t: TestContext) {
  const base = await mkdtemp(join(tmpdir(), 'earshot-links-'));
  t.after(() => rm(base, { recursive: true, force: true }));
  const layout = layoutOf('west', base);
  await makeNamespace(layout);
  const directory = layout.runtime.links;
  const files = new OfflineLinkFiles(directory);
  return { directory, files, list: async () => (await readdir(directory)).sort() };
}

test('a static link is a Secret and a Link that names it, in a file that only its user can read', async (t) => {
  const { directory, files } = await aDirectory(t);
  await chmod(directory, 0o755);
  await writeStaticLinks([aLink('192.0.2.1')], files);
  const path = join(directory, 'link-far-192.0.2.1.yaml');
  assert.deepEqual([(await stat(path)).mode & 0o777, (await stat(directory)).mode & 0o777], [0o600, 0o700]);
  const data = Object.fromEntries(
    Object.entries({ 'ca.crt': 'CA', 'tls.crt': 'CERT', 'tls.key': 'KEY' }).map(([key, text]) => [key, btoa(text)]),
  );
  assert.deepEqual(parseYaml(await readFile(path, 'utf8')), [
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'link-far' }, type: 'kubernetes.io/tls', data },
    {
      apiVersion: 'skupper.io/v2alpha1',
      kind: 'Link',
      metadata: { name: 'link-far' },
      spec: { cost: 1, endpoints: [{ name: 'inter-router', host: '192.0.2.1', port: '55671' }], tlsCredentials: 'link-far' },
    },
  ]);
});

test('a long name does not keep other links from being written', async (t) => {
  const { files, list } = await aDirectory(t);
  const long = { ...aLink('192.0.2.1'), name: `link-${'a'.repeat(250)}` };
  await writeStaticLinks([long, { ...long, host: '192.0.2.2' }, aLink('192.0.2.1')], files);
  const names = await list();
  assert.equal(names.length, 3);
  assert.ok(names.includes('link-far-192.0.2.1.yaml'));
  await files.keepOnly([]);
  assert.deepEqual(await list(), []);
});

test('files of hosts and accesses that are gone are removed; one whose port is closed stays as it is', async (t) => {
  const { directory, files, list } = await aDirectory(t);
  await writeFile(join(directory, 'link-old-192.0.2.1.yaml'), '');
  await writeFile(join(directory, 'notes.txt'), '');
  await writeStaticLinks([aLink('192.0.2.1'), aLink('2001:db8::1'), aLink('west.example')], files);
  const closed: StaticLink = { name: 'link-far', host: '192.0.2.1' };
  await writeStaticLinks([closed], files);
  await files.keepOnly([closed, aLink('west.example')]);
  assert.deepEqual(await list(), ['link-far-192.0.2.1.yaml', 'link-far-west.example.yaml', 'notes.txt']);
  assert.match(await readFile(join(directory, 'link-far-192.0.2.1.yaml'), 'utf8'), /kind: Link/);
});

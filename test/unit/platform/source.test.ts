import assert from 'node:assert/strict';
import { utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { FileSource } from '../../../src/platform/linux/source.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import { aLink } from '../site/fixtures.ts';
import { aNamespace } from './support.ts';

const certificate = (subject: string): string =>
  JSON.stringify({ apiVersion: 'skupper.io/v2alpha1', kind: 'Certificate', metadata: { name: 'app' }, spec: { ca: 'ca', subject } });

test("a Link's cached endpoints are read from the status of an earlier process while its own endpoints are unchanged", async (t) => {
  const layout = await aNamespace(t);
  const [site, told] = ['0b6b1f3c-5f0a-8c11-9d2e-3a4b5c6d7e8f', { host: '192.0.2.7', port: '55671' }];
  for (const [name, host] of [
    ['same', '192.0.2.1'],
    ['other', '192.0.2.2'],
  ] as const) {
    const { apiVersion, kind, metadata, spec } = aLink(name);
    await writeFile(join(layout.input.resources, `${name}.yaml`), JSON.stringify({ apiVersion, kind, metadata, spec }));
    const status = { remoteSiteId: site, endpoints: [told], conditions: [{ type: 'Ready' }] };
    const before = { ...spec, endpoints: spec.endpoints.map((endpoint) => ({ ...endpoint, host })) };
    await writeFile(
      join(layout.runtime.resources, `Link-${name}.yaml`),
      JSON.stringify({ apiVersion, kind, metadata, spec: before, status }),
    );
  }
  const log = createLogger({ level: 'silent', component: 'test' });
  const { remembered } = await new FileSource({ layout, log, watched: [] }).read();
  assert.deepEqual(remembered, new Map([['same', { site, endpoints: [{ host: '192.0.2.7', port: 55_671 }] }]]));
});

test('missing resources may be desired only if an unreadable file was never read before', async (t) => {
  const layout = await aNamespace(t);
  const log = createLogger({ level: 'silent', component: 'test' });
  const source = new FileSource({ layout, log, watched: [] });
  const read = async (texts: Readonly<Record<string, string>>): Promise<readonly [boolean, boolean]> => {
    for (const [file, text] of Object.entries(texts)) {
      const path = join(layout.input.resources, file);
      await writeFile(path, text);
      // A file written a moment ago may be half written.
      await utimes(path, new Date(), new Date(Date.now() - 1_000));
    }
    const { incomplete, resources, problems } = await source.read();
    return [incomplete, resources.Certificate.length > 0 || problems.some(({ resource }) => resource === 'Certificate/app')];
  };
  assert.deepEqual(await read({}), [false, false]);
  assert.deepEqual(await read({ 'app.yaml': certificate('app') }), [false, true]);
  assert.deepEqual(await read({ 'app.yaml': '{' }), [false, true], 'it was read before, and stays');
  assert.deepEqual(await read({ 'other.yaml': '{' }), [true, true], 'it was never read');
  assert.deepEqual(await read({ 'app.yaml': certificate(''), 'other.yaml': '' }), [false, true], 'its name can be read');
});

import assert from 'node:assert/strict';
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { layoutOf } from '../../../src/platform/linux/layout.ts';
import { makeNamespace, startSite } from '../../../src/platform/linux/site.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import { FakeRouter } from '../agent/support/fake-router.ts';
import { makeAuthority } from '../trust/support/site.ts';
import { aDirectory, until } from './support.ts';

const log = createLogger({ level: 'silent', component: 'test' });
const apiVersion = 'skupper.io/v2alpha1';
const metadata = (name: string) => ({ name, namespace: 'west' });

test('a namespace as Skupper lays it out is used where it is, and what Earshot does not know is left alone', async (t) => {
  const base = await aDirectory(t);
  const layout = layoutOf('west', base);
  const { ca } = makeAuthority();
  const site = { apiVersion, kind: 'Site', metadata: metadata('west'), spec: { linkAccess: 'none' } };
  const roles = [
    { name: 'inter-router', port: 55671 },
    { name: 'edge', port: 45671 },
  ];
  const files: Readonly<Record<string, unknown>> = {
    'input/resources/Site-west.yaml': site,
    'input/resources/RouterAccess-far.yaml': {
      apiVersion,
      kind: 'RouterAccess',
      metadata: metadata('far'),
      spec: { roles, bindHost: '127.0.0.1' },
    },
    'input/resources/Listener-web.yaml': {
      apiVersion,
      kind: 'Listener',
      metadata: metadata('web'),
      spec: { routingKey: 'web', host: '127.0.0.1', port: 8080, type: 'tcp', tlsCredentials: 'web' },
    },
    'input/resources/ConfigMap-more.yaml': { apiVersion: 'v1', kind: 'ConfigMap', metadata: metadata('more'), data: {} },
    'input/certs/web/ca.crt': ca,
    'input/issuers/readme.txt': 'mine',
    'internal/platform.yaml': { platform: 'linux' },
    'internal/snapshot/Site-west.yaml': site,
    'internal/scripts/start.sh': '#!/bin/sh',
    'runtime/router/skrouterd.json': [],
    'runtime/issuers/skupper-site-ca/tls.crt': ca,
    'runtime/certs/skupper-local-server/tls.crt': ca,
    'runtime/links/link-old-127.0.0.1.yaml': { kind: 'Link' },
    'runtime/resources/Site-west.yaml': { ...site, status: { status: 'Ready', message: 'OK' } },
    'runtime/resources/Certificate-skupper-site-ca.yaml': {
      apiVersion,
      kind: 'Certificate',
      metadata: metadata('skupper-site-ca'),
      spec: {},
    },
    'runtime/resources/Secret-x.yaml': { apiVersion: 'v1', kind: 'Secret', metadata: metadata('x') },
    'sources.backup.tar.gz': 'tar',
  };
  for (const [file, content] of Object.entries(files)) {
    await mkdir(join(layout.root, dirname(file)), { recursive: true });
    await writeFile(join(layout.root, file), typeof content === 'string' ? content : JSON.stringify(content));
  }
  for (const directory of ['runtime/links', 'runtime/certs', 'internal']) await chmod(join(layout.root, directory), 0o755);
  await makeNamespace(layout);
  const router = new FakeRouter();
  await using _site = await startSite({ layout, router: 'router', version: '1', log, start: router.start });
  const status = async (file: string): Promise<{ readonly status?: string; readonly message?: string }> =>
    // The running site wrote it.
    (parse(await readFile(join(layout.runtime.resources, file), 'utf8').catch(() => '')) as { status?: object } | null)?.status ?? {};
  await until(async () => (await status('RouterAccess-far.yaml')).status === 'Ready', 'the access is ready');
  await until(async () => (await readdir(layout.runtime.links)).includes('link-far-127.0.0.1.yaml'), 'the static link is written');
  assert.match(
    (await status('Listener-web.yaml')).message ?? '',
    /bundle web lacks tls\.crt/,
    "the user's bundle counts, though it is incomplete",
  );
  assert.deepEqual(await readdir(layout.runtime.links), ['link-far-127.0.0.1.yaml']);
  assert.equal((await stat(layout.runtime.links)).mode & 0o777, 0o700);
  const problems = await readFile(layout.runtime.problems, 'utf8');
  assert.match(problems, /a ConfigMap \(v1\) has no effect without a cluster, so it is ignored/);
  for (const file of [
    'internal/snapshot/Site-west.yaml',
    'internal/scripts/start.sh',
    'runtime/router/skrouterd.json',
    'sources.backup.tar.gz',
  ])
    assert.ok((await stat(join(layout.root, file))).isFile(), file);
  assert.deepEqual((await readdir(layout.runtime.certs)).sort(), ['client-far', 'far', 'skupper-local-server', 'web']);
});

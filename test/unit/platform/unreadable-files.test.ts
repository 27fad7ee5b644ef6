/** A file that turns unreadable is still there: nothing that was made for its resource is deleted, revoked or issued again. */
import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import type { NamespaceLayout } from '../../../src/platform/linux/layout.ts';
import { startSite } from '../../../src/platform/linux/site.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import { readRevoked } from '../../../src/trust/disk/ledger.ts';
import { FakeRouter } from '../agent/support/fake-router.ts';
import { freePort } from '../support/free-port.ts';
import { aNamespace, until } from './support.ts';

const log = createLogger({ level: 'silent', component: 'test' });

const DAMAGES: readonly ((text: string) => string)[] = [
  () => '{"apiVersion": "skupper.io/v2alpha1", "kind',
  (text) => JSON.stringify({ ...(JSON.parse(text) as object), spec: 'spec' }),
];

/** Certificates, keys and grants, as they are on disk. */
async function madeFor({ internal }: NamespaceLayout): Promise<ReadonlyMap<string, string>> {
  const files = await readdir(internal.root, { recursive: true, withFileTypes: true });
  const kept = files.filter(
    ({ name, parentPath }) =>
      /^(?:tls\.(?:crt|key)|identity\.key|.*\.json)$/.test(name) &&
      !parentPath.includes('/..') &&
      !parentPath.endsWith('earshot-grant-server'),
  );
  const read = kept.map(async ({ name, parentPath }) => [join(parentPath, name), await readFile(join(parentPath, name), 'utf8')] as const);
  return new Map(await Promise.all(read));
}

test('a file that turns unreadable takes nothing away, also over a restart', async (t) => {
  const layout = await aNamespace(t);
  const resources: Readonly<Record<string, object>> = {
    'Site/west': { linkAccess: 'default', settings: { 'grant-port': `${await freePort()}` } },
    'RouterAccess/shows': { roles: [{ name: 'inter-router', port: await freePort() }], tlsCredentials: 'of-access' },
    'Certificate/of-access': { ca: 'earshot-site-ca', server: true, subject: 'of-access', hosts: ['127.0.0.1'] },
    'Certificate/app': { ca: 'earshot-site-ca', server: true, subject: 'app', hosts: ['app'] },
    'Certificate/authority': { ca: '', signing: true, subject: 'authority' },
    'AccessGrant/grant': { code: 'one-of-my-own' },
  };
  const files = new Map(
    Object.entries(resources).map(([key, spec]) => {
      const [kind = '', name = ''] = key.split('/');
      const text = JSON.stringify({ apiVersion: 'skupper.io/v2alpha1', kind, metadata: { name }, spec });
      return [join(layout.input.resources, `${kind}-${name}.yaml`), text] as const;
    }),
  );
  const write = (path: string, text: string): Promise<void> => writeFile(path, text);
  const run = async (act: () => Promise<void>): Promise<void> => {
    const router = new FakeRouter();
    await using site = await startSite({ layout, router: 'router', version: '1', log, start: router.start });
    await act();
    site.reload();
  };
  for (const [path, text] of files) await write(path, text);
  await run(() => until(async () => [...(await madeFor(layout)).keys()].some((path) => path.endsWith('grant.json')), 'the grant is there'));
  const before = await madeFor(layout);
  assert.ok(before.size >= 9, [...before.keys()].join(' '));
  await fc.assert(
    fc.asyncProperty(
      fc.subarray([...files.keys()], { minLength: 1 }),
      fc.constantFrom(...DAMAGES),
      fc.boolean(),
      async (some, damage, runs) => {
        const spoil = async (): Promise<void> => {
          for (const path of some) await write(path, damage(files.get(path) ?? ''));
        };
        if (!runs) await spoil();
        await run(runs ? spoil : () => Promise.resolve());
        const after = await madeFor(layout);
        for (const [path, text] of before) assert.deepEqual([path, after.get(path)], [path, text]);
        assert.deepEqual(await readRevoked(layout.internal.root), []);
        for (const [path, text] of files) await write(path, text);
        await run(() => Promise.resolve());
        assert.deepEqual(await readRevoked(layout.internal.root), []);
      },
    ),
    { numRuns: 25 },
  );
});

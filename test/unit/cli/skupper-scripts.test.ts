import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { lchown, mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { archiveName } from '../../../src/cli/actions/debug-actions.ts';
import { imageRow } from '../../../src/cli/actions/version-actions.ts';
import { layoutOf } from '../../../src/platform/linux/layout.ts';
import { parseYaml } from '../../../src/text/yaml.ts';
import { Namespace } from './namespace.ts';

const site = 'apiVersion: skupper.io/v2alpha1\nkind: Site\nmetadata:\n  name: west\n';

describe('scripts of Skupper on a machine', () => {
  it('apply and delete resources by `system apply` and `system delete`', async () => {
    await using west = await Namespace.make();
    const applied = await west.earshot(['system', 'apply', '-f', '-'], site);
    assert.deepEqual([applied.code, applied.out], [0, 'Site "west" is created.\n']);
    const deleted = await west.earshot(['system', 'delete', '-f', '-'], site);
    assert.deepEqual([deleted.code, deleted.out], [0, 'Site "west" is deleted.\n']);
    await west.earshot(['listener', 'create', 'web', '80', '-r', 'key']);
    assert.equal((await west.earshot(['system', 'delete', 'listener', 'web'])).code, 0);
  });

  it('receive an error that `system apply` is for machines', async () => {
    await using west = await Namespace.make();
    const { code, err } = await west.earshot(['--platform', 'kubernetes', 'system', 'apply', '-f', '-'], site);
    assert.equal(code, 2);
    assert.match(err, /system apply does not support kubernetes/);
  });

  it('apply what is at an address', async () => {
    await using west = await Namespace.make();
    const server = createServer((request, response) => {
      response.statusCode = request.url === '/site.yaml' ? 200 : 404;
      response.end(site);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    try {
      assert.equal((await west.earshot(['apply', '-f', `http://127.0.0.1:${port}/site.yaml`])).out, 'Site "west" is created.\n');
      const { code, err } = await west.earshot(['apply', '-f', `http://127.0.0.1:${port}/gone.yaml`]);
      assert.equal(code, 1);
      assert.match(err, /gone\.yaml cannot be downloaded: the server answered 404/);
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });

  it('may say how changes are adopted', async () => {
    await using west = await Namespace.make();
    for (const type of ['auto', 'manual']) {
      const { code, out, err } = await west.earshot(['system', 'install', '--print', '--reload-type', type]);
      assert.equal(code, 0);
      assert.match(out, /^ExecStart=/m);
      assert.match(err, /--reload-type has no effect/);
    }
    assert.equal((await west.earshot(['system', 'install', '--print', '--reload-type', 'never'])).code, 2);
  });

  it('delete the keys of a site whose namespace is a link, and no other files there', async () => {
    await using west = await Namespace.make();
    const target = join(west.home, 'elsewhere');
    await west.earshot(['site', 'create', 'west']);
    await mkdir(west.layout.internal.root, { recursive: true });
    await rename(west.layout.root, target);
    await symlink(target, west.layout.root);
    await writeFile(join(target, 'foreign'), '');
    const { code, err } = await west.earshot(['system', 'uninstall', '--purge']);
    assert.equal(code, 0, err);
    assert.deepEqual(await readdir(target), ['foreign']);
    assert.equal(existsSync(west.layout.root), false);
  });

  it('learn how a site without a unit ends', { skip: existsSync('/run/systemd/system') && 'systemd runs here' }, async () => {
    await using west = await Namespace.make();
    await west.earshot(['site', 'create', 'west']);
    const { code, err } = await west.earshot(['system', 'uninstall']);
    assert.equal(code, 1);
    assert.match(
      err,
      /no unit to remove: systemd does not run .*`earshot -n west system stop`, or .*`earshot -n west system uninstall --purge`\.\n$/,
    );
  });

  it('delete a namespace that is a link to a directory that is gone', async () => {
    await using west = await Namespace.make();
    await west.earshot(['site', 'create', 'west']);
    await rm(west.layout.root, { recursive: true });
    await symlink(join(west.home, 'gone'), west.layout.root);
    const { code, err } = await west.earshot(['system', 'uninstall', '--purge']);
    assert.equal(code, 0, err);
    assert.deepEqual(await readdir(dirname(west.layout.root)), []);
  });

  it('delete nothing behind a link that another user made', { skip: process.getuid?.() !== 0 && 'needs root' }, async () => {
    await using west = await Namespace.make();
    const target = join(west.home, 'victim');
    await mkdir(join(target, 'west'), { recursive: true });
    await writeFile(join(target, 'west', 'important'), '');
    const namespaces = dirname(west.layout.root);
    await rm(namespaces, { recursive: true, force: true });
    await symlink(target, namespaces);
    await lchown(namespaces, 12_345, 12_345);
    const { code, err } = await west.earshot(['system', 'uninstall', '--purge']);
    assert.equal(code, 1);
    assert.match(err, /symbolic link of another user/);
    assert.equal(existsSync(join(target, 'west', 'important')), true);
  });

  it('delete all sites by `system uninstall --force`, and none without', async () => {
    await using west = await Namespace.make();
    await west.earshot(['site', 'create', 'west']);
    await west.earshot(['-n', 'other', 'site', 'create', 'other']);
    assert.notEqual((await west.earshot(['system', 'uninstall', '--force=false'])).code, 0);
    assert.ok(existsSync(west.layout.root));
    const { code, out } = await west.earshot(['system', 'uninstall', '-f']);
    assert.equal(code, 0);
    assert.match(out, /The namespace other is deleted.*\nThe namespace west is deleted/);
    assert.deepEqual([existsSync(west.layout.root), existsSync(layoutOf('other', west.home).root)], [false, false]);
    assert.match((await west.earshot(['system', 'uninstall', '--force'])).out, /There is no site below/);
  });

  it('print connectors with fields that only clusters have', async () => {
    await using west = await Namespace.make();
    const { code, out } = await west.earshot(['connector', 'generate', 'web', '80', '--selector', 'app=web', '--include-not-ready=true']);
    assert.equal(code, 0);
    const [{ spec } = {}] = parseYaml(out) as readonly { readonly spec?: object }[];
    assert.deepEqual(spec, { routingKey: 'web', port: 80, selector: 'app=web', includeNotReadyPods: true });
    const unsaid = await west.earshot(['connector', 'generate', 'web', '80']);
    assert.match(unsaid.out, /host: localhost/);
    assert.match((await west.earshot(['-p=kubernetes', 'connector', 'generate', 'web', '80'])).out, /selector: app=web/);
    const refused = await west.earshot(['connector', 'generate', 'web', '80', '--workload', 'deployment/web']);
    assert.equal(refused.code, 2);
    assert.match(refused.err, /they exist only in a cluster\. Give their labels with --selector/);
  });

  it('print links that name a bundle of the other site', async () => {
    await using west = await Namespace.make();
    await west.run();
    const endpoints = [
      { name: 'inter-router', host: '192.0.2.1', port: '55671', group: 'a' },
      { name: 'edge', host: '192.0.2.1', port: '45671', group: 'a' },
      { name: 'inter-router', host: '192.0.2.2', port: '55671', group: 'b' },
    ];
    await west.answer('Site', 'west', { linkAccess: 'default' }, { status: 'Ready', endpoints });
    const words = ['link', 'generate', '--generate-credential=false'];
    assert.match((await west.earshot(words)).err, /with --tls-credentials NAME/);
    const { code, out, err } = await west.earshot([...words, '--tls-credentials', 'corp', '--cost', '3']);
    assert.equal(code, 0, err);
    assert.deepEqual(
      parseYaml(out),
      ['a', 'b'].map((group) => ({
        apiVersion: 'skupper.io/v2alpha1',
        kind: 'Link',
        metadata: { name: `link-west-${group}` },
        spec: { cost: 3, endpoints: endpoints.filter((endpoint) => endpoint.group === group), tlsCredentials: 'corp' },
      })),
    );
    const named = await west.earshot([...words, '--tls-credentials', 'corp', '--name', 'b']);
    assert.deepEqual(
      parseYaml(named.out).map((document) => Object(document).metadata.name),
      ['link-west-b'],
    );
    const other = await west.earshot([...words, '--tls-credentials', 'corp', '--name', 'c']);
    assert.deepEqual([other.code, /this RouterAccess does not exist\. Give one of "a", "b"/.test(other.err)], [4, true]);
    const elsewhere = await west.earshot([...words, '--tls-credentials', 'corp', '--host', 'gone']);
    assert.deepEqual([elsewhere.code, /no address "gone" for other sites/.test(elsewhere.err)], [4, true]);
  });

  it('print what runs by `manifest`', async () => {
    await using west = await Namespace.make();
    const { code, out } = await west.earshot(['manifest']);
    assert.equal(code, 0);
    assert.match(out, /^COMPONENT +VERSION\n\S+ +\d+\.\d+\.\d+\S*\n$/);
    assert.match((await west.earshot(['manifest', '-o', 'yaml'])).out, /^components:\n *- component: /);
  });

  it('read images by name and version', () => {
    for (const [image, component, version] of [
      ['localhost/earshot:1.2.3', 'localhost/earshot', '1.2.3'],
      ['registry:5000/earshot', 'registry:5000/earshot', 'latest'],
      ['registry:5000/earshot@sha256:ab', 'registry:5000/earshot', 'sha256:ab'],
    ] as const)
      assert.deepEqual(imageRow(image), { component, version });
  });

  it('find the archive of `debug dump` under the names that Skupper gives', () => {
    const now = new Date('2030-01-02T03:04:05.678Z');
    assert.equal(archiveName(undefined, 'west', now), 'skupper-dump-west-20300102030405.tar.gz');
    assert.equal(archiveName('dumps/x', 'west', now), 'dumps/x-west-20300102030405.tar.gz');
    assert.equal(archiveName('x.tar.gz', 'west', now), 'x.tar.gz');
  });
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
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

  it('are told that `system apply` is for machines', async () => {
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
    const refused = await west.earshot(['connector', 'generate', 'web', '80', '--workload', 'deployment/web']);
    assert.equal(refused.code, 2);
    assert.match(refused.err, /pods exist only in a cluster: give their labels with --selector/);
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
    const elsewhere = await west.earshot([...words, '--tls-credentials', 'corp', '--host', 'gone']);
    assert.deepEqual([elsewhere.code, /do not reach this one by "gone"/.test(elsewhere.err)], [4, true]);
  });
});

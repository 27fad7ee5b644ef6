import assert from 'node:assert/strict';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { redacted, scrubbed } from '../../../src/cli/output/redact.ts';
import { tarOf } from '../../../src/cli/output/tar.ts';
import { Namespace } from './namespace.ts';
import { untar } from './untar.ts';

const key = '-----BEGIN PRIVATE KEY-----\nc2VjcmV0LW1hcmtlcg==\n-----END PRIVATE KEY-----\n';
const resource = (kind: string, spec: object, more: object = {}) => ({
  apiVersion: 'skupper.io/v2alpha1',
  kind,
  metadata: { name: 'x' },
  spec,
  ...more,
});

describe('the archive of debug dump', () => {
  it('holds resources, statuses and problems, and no secret wherever one may be', async () => {
    await using west = await Namespace.make();
    const marker = 'secretmarker';
    const token = { url: 'https://example.com', code: `${marker}1`, ca: 'PEM' };
    const last = JSON.stringify(resource('AccessToken', token));
    await west.put('token.yaml', JSON.stringify(resource('AccessToken', token, { metadata: { name: 'x', annotations: { last } } })));
    await west.put(
      'secret.yaml',
      JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x' }, data: { 'tls.key': `${marker}2` } }),
    );
    await west.put('unknown.yaml', JSON.stringify(resource('Listener', { routingKey: 'a', password: `${marker}3` })));
    await west.put('broken.yaml', `code: ${marker}4\n  spec: [`);
    await west.put('scalar.yaml', `${marker}5\n`);
    await west.write(join(west.layout.input.certs, 'web', 'tls.key'), key);
    await west.write(join(west.layout.input.certs, 'web', 'tls.crt'), key);
    await west.write(west.layout.internal.identityKey, key);
    await west.write(join(west.layout.internal.grants, 'x.json'), `{"code":"${marker}6"}`);
    await west.write(join(west.layout.runtime.links, 'link-x.yaml'), `data: {tls.key: ${marker}7}\n`);
    await west.answer(
      'AccessGrant',
      'x',
      { code: `${marker}8` },
      { status: 'Ready', code: `${marker}9`, message: `not even ${marker}9 here` },
    );
    await west.write(
      west.layout.runtime.problems,
      `problems: [{file: broken.yaml, line: 2, severity: error, message: 'it is not YAML near ${marker}1'}]\n`,
    );

    const file = join(west.home, 'dump.tar.gz');
    const { code, out } = await west.earshot(['debug', 'dump', file]);
    assert.deepEqual([code, /Wrote .*: \d+ files without keys, codes and tokens/.test(out)], [0, true]);
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    const files = untar(gunzipSync(await readFile(file)));
    const everything = [...files].flat().join('\n');
    assert.doesNotMatch(everything, new RegExp(`${marker}|c2VjcmV0`));
    assert.doesNotMatch(everything, /PRIVATE KEY/);

    const expected = [
      'about.yaml',
      'check.json',
      'certificates.yaml',
      'files.txt',
      'problems.txt',
      'input/resources/token.yaml',
      'runtime/resources/AccessGrant-x.yaml',
    ];
    for (const name of expected) assert.ok(files.has(`earshot-west/${name}`), `${name} of ${[...files.keys()].join(' ')}`);
    assert.match(files.get('earshot-west/input/resources/token.yaml') ?? '', /url: https:\/\/example\.com\n {2}code: "\(hidden\)"/);
    assert.match(files.get('earshot-west/input/resources/secret.yaml') ?? '', /keys:\n- tls\.key/);
    const { verdict, findings } = JSON.parse(files.get('earshot-west/check.json') ?? '');
    assert.deepEqual([verdict, findings.some((step: { code?: string }) => step.code === 'invalid-file')], ['fail', true]);
    assert.match(files.get('earshot-west/files.txt') ?? '', /input\/certs\/web\/tls\.key/);
    assert.match(files.get('earshot-west/problems.txt') ?? '', /^broken\.yaml:2: it is not YAML/);
  });
});

describe('what may be shown of a resource', () => {
  it('never has the value of a field that is secret or unknown, whatever its form', () => {
    const secret = 'Zq9-marker';
    const value = fc.oneof(fc.constant(secret), fc.constant([secret]), fc.constant({ a: secret }), fc.constant(1), fc.constant(null));
    const kinds = fc.constantFrom('AccessToken', 'AccessGrant', 'Secret', 'Unknown', '__proto__');
    fc.assert(
      fc.property(kinds, value, value, value, (kind, code, other, data) => {
        const shown = redacted({
          apiVersion: 'x',
          kind,
          metadata: { name: 'x', annotations: other },
          spec: { code, unknown: other },
          data,
          status: { code },
        });
        assert.equal(JSON.stringify(shown).includes(secret), false);
      }),
    );
    for (const scalar of [secret, [secret], null]) assert.equal(JSON.stringify(redacted(scalar)).includes(secret), false);
  });

  it('keeps what helps to find a fault', () => {
    const spec = { endpoints: [{ host: 'a', port: '1' }], cost: 2 };
    const status = { status: 'Pending', message: 'm' };
    assert.deepEqual(redacted(resource('Link', spec, { status })), {
      ...resource('Link', spec, { status }),
      metadata: { name: 'x', namespace: undefined },
    });
  });

  it('has no private key, not even one that is cut off', () => {
    assert.equal(scrubbed(`a ${key} b ${key.slice(0, 40)}`, []), 'a (hidden)\n b (hidden)');
    assert.equal(scrubbed('x codecode y', ['codecode']), 'x (hidden) y');
  });
});

describe('a tar archive', () => {
  it('comes out as it went in, with long paths and all of Unicode', () => {
    const files = [
      { path: 'a', content: '' },
      { path: `${'d'.repeat(90)}/${'e'.repeat(90)}`, content: 'ü'.repeat(600) },
    ];
    assert.deepEqual(
      [...untar(tarOf(files, 0))],
      files.map(({ path, content }) => [path, content]),
    );
    assert.equal(tarOf(files, 0).length % 512, 0);
  });

  it('is refused for a path that does not fit', () => {
    assert.throws(() => tarOf([{ path: 'x'.repeat(300), content: '' }], 0), /too long for an archive/);
  });
});

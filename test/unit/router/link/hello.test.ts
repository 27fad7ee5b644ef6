import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { LinkError } from '../../../../src/router/link/link-errors.ts';
import { readCost, readHello, writeCost, writeHello, type Binding, type Hello } from '../../../../src/router/link/session/hello.ts';
import { siteConfig } from '../support/site.ts';

const { site, siteKey } = siteConfig('west');
const binding: Binding = { exporter: randomBytes(32), role: 'client' };
const hello: Hello = { versions: [1], router: 'main', site, edge: false, link: { id: '0123456789abcdef', cost: 3 } };

test('a hello is read as it was written', () => {
  assert.deepEqual(readHello(writeHello(hello, siteKey, binding), binding), hello);
});

test('a hello of another connection, or of its other end, proves nothing', () => {
  const message = writeHello(hello, siteKey, binding);
  assert.throws(() => readHello(message, { ...binding, exporter: randomBytes(32) }), { code: 'wrong-proof' });
  assert.throws(() => readHello(message, { ...binding, role: 'server' }), { code: 'wrong-proof' });
});

test('a hello with the ID of another site is refused', () => {
  const other = siteConfig('other');
  assert.throws(() => readHello(writeHello({ ...hello, site: other.site }, siteKey, binding), binding), { code: 'wrong-proof' });
});

test('additions of a newer peer are accepted, and one common version is enough', () => {
  const newer: Hello & { readonly colour: string } = { ...hello, versions: [7, 1], colour: 'blue' };
  assert.deepEqual(readHello(writeHello(newer, siteKey, binding), binding), { ...hello, versions: [7, 1] });
});

test('no version in common is said as such', () => {
  assert.throws(() => readHello(writeHello({ ...hello, versions: [7] }, siteKey, binding), binding), {
    code: 'version',
    message: /versions 7 .* this router 1/,
  });
});

const spoiled: readonly [string, (value: Record<string, unknown>) => unknown][] = [
  ['router', (value) => ({ ...value, router: '../main' })],
  ['router', (value) => ({ ...value, router: 'a b' })],
  ['site.id', (value) => ({ ...value, site: { ...site, id: 'x' } })],
  ['site.name', (value) => ({ ...value, site: { ...site, name: 'two\nlines' } })],
  ['site.name', (value) => ({ ...value, site: { ...site, name: 'x'.repeat(254) } })],
  ['link.id', (value) => ({ ...value, link: { id: 'short', cost: 1 } })],
  ['cost', (value) => ({ ...value, link: { id: hello.link.id, cost: 0 } })],
  ['cost', (value) => ({ ...value, link: { id: hello.link.id, cost: 65_536 } })],
  ['cost', (value) => ({ ...value, link: { id: hello.link.id, cost: 1.5 } })],
  ['versions', (value) => ({ ...value, versions: [] })],
  ['versions', (value) => ({ ...value, versions: 'one' })],
  ['site', (value) => ({ ...value, site: null })],
  ['message', () => []],
];

for (const [field, spoil] of spoiled) {
  test(`a hello without a valid ${field} names it: ${JSON.stringify(spoil({})).slice(0, 60)}`, () => {
    // Whatever is written is signed: what is wrong is the content.
    const message = writeHello(spoil({ ...hello }) as Hello, siteKey, binding);
    const expected = field === 'message' ? /versions|link|site/ : new RegExp(field.replace('.', '\\.'));
    assert.throws(() => readHello(message, binding), { code: 'protocol', message: expected });
  });
}

test('bytes of any kind are a hello or a fault of the peer, and nothing else', () => {
  const good = writeHello(hello, siteKey, binding);
  const changed = fc.tuple(fc.nat(good.length - 1), fc.nat(255)).map(([at, value]) => {
    const copy = Buffer.from(good);
    copy[at] = value;
    return copy;
  });
  fc.assert(
    fc.property(
      fc.oneof(
        changed,
        fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
      ),
      (message) => {
        try {
          assert.deepEqual(readHello(message, binding), hello);
        } catch (error) {
          assert.ok(error instanceof LinkError, String(error));
        }
      },
    ),
    { numRuns: 300 },
  );
});

test('a cost is read as it was written, and impossible ones are not', () => {
  assert.equal(readCost(writeCost(65_535)), 65_535);
  for (const cost of [0, -1, 65_536, 0.5, Number.NaN]) assert.throws(() => readCost(writeCost(cost)), { code: 'protocol' });
});

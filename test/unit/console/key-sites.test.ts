import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readKeySites } from '../../../src/console/key-sites.ts';
import { SampleReader } from '../../../src/console/samples.ts';
import { anyText } from '../support/any-text.ts';

const names = new Map([['e', 'east']]);
const figures = (sites: readonly object[]): object => ({ figures: { listener: { sites } } });

test('counts of a key by site are sums over the routers of this site', () => {
  const east = { site: 'e', opened: 2, failed: 1, bytes: { up: 3, down: 4 } };
  const connector = { figures: { connector: { sites: [{ ...east, site: null }] } } };
  assert.deepEqual(readKeySites([figures([east]), undefined, figures([east]), connector], names), [
    { role: 'listener', site: 'e', name: 'east', opened: 4, failed: 2, up: 6, down: 8 },
    { role: 'connector', site: '', name: '', opened: 2, failed: 1, up: 3, down: 4 },
  ]);
});

test('any answers of a router give bounded sites with numbers', () => {
  const any = fc.oneof(fc.anything(), anyText({ maxLength: 1_000 }));
  const site = fc.record({ site: any, opened: any, failed: any, bytes: any });
  const role = fc.oneof(fc.anything(), fc.record({ sites: fc.oneof(any, fc.array(site)) }));
  const answer = fc.oneof(fc.anything(), fc.record({ figures: fc.record({ listener: role, connector: role }) }));
  fc.assert(
    fc.property(fc.array(answer), (answers) => {
      for (const { site: id, opened, up } of readKeySites(answers, names)) {
        assert.ok(id.length <= 253 && !/\p{Cc}/u.test(id));
        assert.ok(typeof opened === 'number' && typeof up === 'number');
      }
    }),
  );
});

for (const size of [1, 4_096, 100_000])
  test(`a line that is too long is left out as a whole, in chunks of ${size} characters`, () => {
    const reader = new SampleReader(10);
    const line = (key: string, value: number, more = ''): string =>
      `earshot_router_connections_opened_total{role="listener",routing_key="${key}"${more}} ${value}\n`;
    const text = `${line('web', 1)}${line('long', 2, `,x="${'x'.repeat(20_000)}"`)}${line('api', 3)}`;
    for (let at = 0; at < text.length; at += size) reader.read(text.slice(at, at + size));
    assert.deepEqual(
      Array.from(reader.sample.keys, ({ key }) => key),
      ['web', 'api'],
    );
  });

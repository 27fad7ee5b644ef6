import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import {
  appendPassed,
  formatReport,
  parsePassed,
  parseReport,
  probeIn,
  splitMembers,
  type Characters,
} from '../../../../src/router/probe/probe-fields.ts';

const ROUTER = '0d8c3e92-5a54-8f2c-9a3f-0123456789ab/main';

suite('the fields of a probe', () => {
  test('keep what a router reports, with quotes escaped and other characters replaced', () => {
    const text = formatReport({ router: 'r"1\\', version: '0.2.0 ü', queued: 7.9, connect: 3.26 });
    assert.equal(text, 'router="r\\"1\\\\", version="0.2.0 ?", queued=7, connect=3.3');
    assert.deepEqual(parseReport(text), { router: 'r"1\\', version: '0.2.0 ?', queued: 7, connect: 3.3 });
  });

  test('ignore unknown members, other types and invalid texts', () => {
    assert.deepEqual(parseReport('later=1, router=r1, version="2", key=(1 2), queued=-1'), { version: '2' });
    assert.deepEqual(parsePassed(`"${ROUTER}";later="no", "${ROUTER}";later;ms=2;next-rtt=1.5`), [{ router: ROUTER, ms: 2, nextRtt: 1.5 }]);
    for (const text of ['', ',,,', '"', 'router="', 'router="\u0007"', `router="${'x'.repeat(5_000)}"`])
      assert.deepEqual(parseReport(text), {});
  });

  test('report the servers of the key, and the time for TLS', () => {
    const text = formatReport({ clock: 1_767_225_600_000, in: 0.34, connect: 8.16, tls: 5, key: 2, aside: 1 });
    assert.equal(text, 'clock=1767225600000, key=2, aside=1, in=0.3, connect=8.2, tls=5.0');
    assert.deepEqual(parseReport(text), { clock: 1_767_225_600_000, in: 0.3, connect: 8.2, tls: 5, key: 2, aside: 1 });
  });

  test('cost at most one read for each character, whatever a peer sends', () => {
    const hostile = fc.array(fc.constantFrom('"', '\\', ',', 'a', '"a', '\\"', ', "b";ms=1'), { maxLength: 4_096 });
    fc.assert(
      fc.property(hostile, (parts) => {
        const text = parts.join('');
        let reads = 0;
        const counted: Characters = {
          length: text.length,
          slice: (from, to) => text.slice(from, to),
          charCodeAt: (at) => {
            reads += 1;
            return text.charCodeAt(at);
          },
        };
        const members = splitMembers(counted, 32);
        assert.ok(reads <= text.length && members.length <= 32, `${reads} reads of ${text.length} characters`);
      }),
    );
  });

  test('list the routers that an answer passed, and refuse entries that are not routers', () => {
    const once = appendPassed({}, { router: ROUTER, ms: 15.44 });
    const twice = appendPassed(once, { router: ROUTER, ms: 20 });
    assert.deepEqual(parsePassed(twice['earshot-probe-path']), [
      { router: ROUTER, ms: 15.4 },
      { router: ROUTER, ms: 20 },
    ]);
    assert.deepEqual(parsePassed('"unknown";ms=1, "x"'), []);
  });

  test('list at most 32 routers', () => {
    let fields = {};
    for (let count = 0; count < 40; count += 1) fields = appendPassed(fields, { router: ROUTER, ms: 1 });
    assert.equal(parsePassed((fields as { 'earshot-probe-path': string })['earshot-probe-path']).length, 32);
  });

  test('name one of two kinds of probe', () => {
    assert.deepEqual(
      ['hop', 'connect', 'later;v=2', ''].map((kind) => probeIn({ 'earshot-probe': kind })),
      ['hop', 'connect', undefined, undefined],
    );
  });
});

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { appendPassed, formatReport, parsePassed, parseReport, probeIn } from '../../../../src/router/probe/probe-fields.ts';

const ROUTER = '0d8c3e92-5a54-8f2c-9a3f-0123456789ab/main';

suite('the fields of a probe', () => {
  test('keep what a router reports, with quotes escaped and other characters replaced', () => {
    const text = formatReport({ router: 'r"1\\', version: '0.2.0 ü', queued: 7.9, connect: 3.26 });
    assert.equal(text, 'router="r\\"1\\\\", version="0.2.0 ?", queued=7, connect=3.3');
    assert.deepEqual(parseReport(text), { router: 'r"1\\', version: '0.2.0 ?', queued: 7, connect: 3.3 });
  });

  test('ignore unknown members, other types and invalid texts', () => {
    assert.deepEqual(parseReport('aside=1, router=r1, version="2", key=(1 2), queued=-1'), { version: '2' });
    for (const text of ['', ',,,', '"', 'router="', 'router="\u0007"', `router="${'x'.repeat(5_000)}"`])
      assert.deepEqual(parseReport(text), {});
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

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { apiErrorOf } from '../../../src/kube/client/status.ts';

const wholeObject = JSON.stringify({ a: 'x'.repeat(5_000), b: '"\\' });

describe("the server's words in an ApiError", () => {
  const messages: readonly (readonly [behaviour: string, message: string, expected: string])[] = [
    ['are kept', 'services "web" is forbidden', 'services "web" is forbidden'],
    ['keep a short quoted value', 'spec.x: Invalid value: "a\\"b": no', 'spec.x: Invalid value: "a\\"b": no'],
    [
      'lose a quoted object, not what is said about it',
      `"" is invalid: patch: Invalid value: ${JSON.stringify(wholeObject)}: unknown field "spec.portz"`,
      '"" is invalid: patch: Invalid value: "…": unknown field "spec.portz"',
    ],
    ['are cut where a quote never ends', `Invalid value: "${'x'.repeat(5_000)}`, `Invalid value: "${'x'.repeat(2_031)}…`],
    ['are one line', 'a\n\tb\u2028c', 'a b c'],
  ];
  for (const [behaviour, message, expected] of messages) {
    it(behaviour, () => {
      const error = apiErrorOf('patch it', 422, undefined, JSON.stringify({ kind: 'Status', code: 422, reason: 'Invalid', message }));
      assert.equal(error.statusMessage, expected);
    });
  }

  it('are ready in no time, however they are quoted', () => {
    const message = `Invalid value: "${'\\'.repeat(500_000)}`;
    // CPU time: other processes may run meanwhile.
    const from = process.cpuUsage();
    apiErrorOf('patch it', 422, undefined, JSON.stringify({ kind: 'Status', message }));
    const { user, system } = process.cpuUsage(from);
    assert.ok(user + system < 1_000_000, `${user + system} µs`);
  });
});

it('a kind that is not served is called that, and no other page without a Status is', () => {
  const said = (status: number, body: string): string => apiErrorOf('watch listeners', status, undefined, body).statusMessage;
  assert.equal(said(404, '404 page not found\n'), 'the API server does not serve this kind, or not yet');
  assert.equal(said(404, '<html>'), 'not a Kubernetes Status: <html>');
  assert.equal(said(502, '404 page not found'), 'not a Kubernetes Status: 404 page not found');
});

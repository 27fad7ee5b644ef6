import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Site } from '../../../src/api/skupper/index.ts';
import { livenessConflict, livenessOf } from '../../../src/site/plan/link-liveness.ts';
import type { ResourceProblem } from '../../../src/site/problem.ts';
import { settingProblems } from '../../../src/site/settings.ts';

const site = (settings?: Readonly<Record<string, string>>): Site => ({
  apiVersion: 'skupper.io/v2alpha1',
  kind: 'Site',
  metadata: { name: 'west' },
  spec: settings === undefined ? {} : { settings },
});

const problemsOf = (given: Site): readonly ResourceProblem[] => [...settingProblems(given, 'kubernetes'), ...livenessConflict(given)];

describe('how long a link may be silent', () => {
  for (const [suspect, dead, expected] of [
    [undefined, undefined, undefined],
    ['5s', undefined, { suspectAfter: 5_000 }],
    [undefined, '1m30s', { deadAfter: 90_000 }],
    ['500ms', '1h', { suspectAfter: 500, deadAfter: 3_600_000 }],
    ['2s', '2s', { suspectAfter: 2_000, deadAfter: 2_000 }],
  ] as const)
    test(`is ${JSON.stringify(expected)} for ${suspect} and ${dead}, without a complaint`, () => {
      const given = site({
        ...(suspect === undefined ? {} : { 'link-suspect-after': suspect }),
        ...(dead === undefined ? {} : { 'link-dead-after': dead }),
      });
      assert.deepEqual(livenessOf(given), expected);
      assert.deepEqual(problemsOf(given), []);
    });

  for (const text of ['', '5', '-1s', '0s', '499ms', '61m', 'soon', '1e9s'])
    test(`is the default for ${JSON.stringify(text)}, and the field says so`, () => {
      for (const name of ['link-suspect-after', 'link-dead-after']) {
        const given = site({ [name]: text });
        assert.equal(livenessOf(given), undefined);
        const [problem, ...others] = problemsOf(given);
        assert.deepEqual(others, []);
        assert.equal(problem?.field, `spec.settings.${name}`);
        assert.match(problem.message, /is not a duration from 500ms to 1h, .*so the default applies/);
      }
    });

  for (const [settings, field, expected] of [
    [{ 'link-suspect-after': '10s', 'link-dead-after': '5s' }, 'link-dead-after', /is shorter than link-suspect-after, so/],
    [{ 'link-dead-after': '1s' }, 'link-dead-after', /is shorter than link-suspect-after \(default: 2s\), so/],
    [{ 'link-suspect-after': '31s' }, 'link-suspect-after', /is longer than link-dead-after \(default: 30s\), so/],
  ] as const)
    test(`before a link is given up is not less than before it is avoided: ${JSON.stringify(settings)}`, () => {
      const [problem, ...others] = problemsOf(site(settings));
      assert.deepEqual(others, []);
      assert.equal(problem?.field, `spec.settings.${field}`);
      assert.match(problem.message, expected);
    });

  test('is the default where a site has no settings, or inherits them', () => {
    assert.equal(livenessOf(site()), undefined);
    assert.equal(livenessOf(site(Object.create({ 'link-dead-after': '5s' }) as Record<string, string>)), undefined);
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { skupperResources } from '../../../src/api/skupper/index.ts';
import { AwaitedSecrets } from '../../../src/site-controller/awaited-secrets.ts';
import type { ResourceProblem } from '../../../src/site/problem.ts';
import { type Kind, type ResourceKey, type SiteObject } from '../../../src/site/resources.ts';

const missing = (resource: ResourceKey): ResourceProblem => ({ resource, severity: 'error', code: 'tls-missing', message: 'no Secret' });
const object = (kind: SiteObject['kind'], status?: string): SiteObject =>
  ({
    apiVersion: 'skupper.io/v2alpha1',
    kind,
    metadata: { name: 'a' },
    spec: {},
    ...(status === undefined ? {} : { status: { status } }),
  }) as SiteObject;

for (const kind of Object.keys(skupperResources) as readonly Kind[])
  test(`${kind} awaits its Secret for a moment, and again after it was there`, () => {
    const clock = { now: 0 };
    const awaited = new AwaitedSecrets(() => clock.now);
    const judge = (problems: readonly ResourceProblem[], status?: string): readonly [codes: readonly string[], again?: number] => {
      const judged = awaited.judge(problems, [object(kind, status)]);
      const codes = judged.problems.map(({ code }) => code);
      return judged.again === undefined ? [codes] : [codes, judged.again];
    };
    const all = [missing(`${kind}/a`), { ...missing(`${kind}/a`), code: 'port' as const }];
    assert.deepEqual(judge(all), [['secret-awaited', 'port'], 3_000]);
    clock.now = 2_999;
    assert.deepEqual(judge(all, 'Pending'), [['secret-awaited', 'port'], 1]);
    clock.now = 3_000;
    assert.deepEqual(judge(all, 'Pending'), [['tls-missing', 'port']]);
    assert.deepEqual(judge([]), [[]]);
    assert.deepEqual(judge(all, 'Ready'), [['secret-awaited', 'port'], 3_000]);
    assert.deepEqual(new AwaitedSecrets(() => 0).judge(all, [object(kind, 'Error')]).problems, all);
  });

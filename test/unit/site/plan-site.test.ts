import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planSite } from '../../../src/site/plan/plan.ts';
import { aMaterial, aSite, resources } from './fixtures.ts';

const warned = (spec: object, platform: 'linux' | 'kubernetes'): readonly (string | undefined)[] => {
  const { site, problems } = planSite(resources(aSite(spec)), aMaterial({ platform }));
  assert.ok(site, 'it runs all the same');
  assert.ok(problems.every(({ severity }) => severity === 'warning'));
  return problems.map(({ field }) => field);
};

test('what a Site asks for in vain without a cluster is told, so that nobody counts on it', () => {
  assert.deepEqual(warned({ serviceAccount: 'router' }, 'linux'), ['spec.serviceAccount']);
  assert.deepEqual(warned({ serviceAccount: '' }, 'linux'), []);
  assert.deepEqual(warned({ serviceAccount: 'router' }, 'kubernetes'), []);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keptObjects } from '../../../src/site-controller/kept-objects.ts';
import { configMaps, secrets } from '../../../src/kube/resource.ts';

for (const kind of [configMaps, secrets]) {
  const project = keptObjects.find((each) => each.of === kind)?.project ?? (() => undefined);
  const object = (name: string, labels: Readonly<Record<string, string>>) => ({
    metadata: { name, labels },
    type: 'Opaque',
    data: { x: 'x'.repeat(1e6) },
  });

  test(`a ${kind.kind} that no rule uses is not kept, whatever labels of skupper.io it bears`, () => {
    assert.equal(project(object('mine', { 'example.skupper.io/x': '', 'skupper.io/x': '', 'a.skupper.io/skupper.io': '' })), undefined);
  });

  test(`a ${kind.kind} that a rule finds by its name or by its label is kept`, () => {
    if (kind === configMaps) assert.ok(project(object('mine', { 'skupper.io/label-template': '' })) !== undefined);
    assert.ok(project(object(kind === configMaps ? 'skupper-router' : 'skupper-site-ledger', {})) !== undefined);
  });
}

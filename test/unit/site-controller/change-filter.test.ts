import assert from 'node:assert/strict';
import { test } from 'node:test';
import { links, listeners, sites } from '../../../src/api/skupper/index.ts';
import { isRelevantChange } from '../../../src/site-controller/change-filter.ts';
import type { KubeObject } from '../../../src/kube/objects.ts';
import { services, type Resource } from '../../../src/kube/resource.ts';

const plain: KubeObject & { readonly spec?: object; readonly status?: object } = {
  metadata: { namespace: 'west', name: 'web', uid: 'u', resourceVersion: '7', generation: 1 },
  spec: { port: 80 },
};
const reported = { ...plain, metadata: { ...plain.metadata, resourceVersion: '8' }, status: { message: 'OK' } };
const labelled = { ...reported, metadata: { ...reported.metadata, labels: { a: 'b' } } };

const cases: readonly [
  what: string,
  of: Resource,
  previous: KubeObject | undefined,
  object: KubeObject,
  hasSite: boolean,
  isRelevantChange: boolean,
][] = [
  ['a status of a Listener by its router is not', listeners, plain, reported, true, false],
  ['nor of a Link', links, plain, reported, true, false],
  ["without a Site that is the controller's to say", listeners, plain, reported, false, true],
  ['a label is, with or without a status', listeners, plain, labelled, true, true],
  ['a new one is, whatever its status', listeners, undefined, reported, true, true],
  ['the status of a Site is, which others may have written', sites, plain, reported, true, true],
  ['so is that of a Service', services, plain, reported, true, true],
];

test('a change is relevant for its namespace unless a router wrote it into its statuses', () => {
  for (const [what, of, previous, object, hasSite, expected] of cases) {
    const change = previous === undefined ? { type: 'added' as const, object } : { type: 'modified' as const, object, previous };
    assert.equal(
      isRelevantChange(of as Resource<KubeObject>, change, () => hasSite),
      expected,
      what,
    );
  }
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubeClient } from '../../../src/kube/contract.ts';
import { bringUpToDate, isNewer } from '../../../src/kube/controller/definitions.ts';
import { customResourceDefinitionsResource } from '../../../src/api/crd.ts';
import { customResourceDefinitions } from '../../../src/api/listeners/crds.ts';
import { skupperDefinitions } from '../../../src/api/skupper/crds.ts';
import { networkObserverDefinition } from '../../../src/api/skupper/network-observer-definition.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import { VERSION, VERSION_ANNOTATION } from '../../../src/version.ts';

const log = createLogger({ level: 'silent', component: 'test' });

describe('resource definitions in a cluster', () => {
  for (const [half, definitions] of [
    ['exposure', customResourceDefinitions()],
    ['connection', [...skupperDefinitions(), networkObserverDefinition()]],
  ] as const) {
    for (const [what, annotations, isApplied] of [
      ['of an earlier system', {}, true],
      ['of an older version', { [VERSION_ANNOTATION]: '0.0.1' }, true],
      ['of this version', { [VERSION_ANNOTATION]: VERSION }, true],
      ['of a newer version', { [VERSION_ANNOTATION]: '999.0.0' }, false],
      ['of a version that cannot be read', { [VERSION_ANNOTATION]: 'newest' }, true],
    ] as const) {
      it(`${what} ${isApplied ? 'are brought up to date' : 'stay as they are'} (${half})`, async () => {
        const applied: unknown[] = [];
        const client = {
          find: () => Promise.resolve({ metadata: { annotations } }),
          apply: (_of: unknown, object: { readonly metadata: { readonly annotations: unknown } }) => {
            applied.push(object.metadata.annotations);
            return Promise.resolve(object);
          },
        };
        // Nothing else is called.
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion
        const asClient = client as unknown as KubeClient;
        await bringUpToDate(asClient, customResourceDefinitionsResource, definitions, log, new AbortController().signal);
        assert.equal(applied.length, isApplied ? definitions.length : 0);
        for (const each of applied) assert.equal((each as Record<string, string>)[VERSION_ANNOTATION], VERSION);
      });
    }
  }
});

describe('a version', () => {
  for (const [one, other, expected] of [
    ['1.0.0', '0.9.9', true],
    ['0.10.0', '0.9.0', true],
    ['0.1.1', '0.1.0', true],
    ['0.1.0', '0.1.0', false],
    ['0.1.0', '0.2.0', false],
    ['0.1.0', '0.1.0-rc.1', true],
    ['0.1.0-rc.1', '0.1.0', false],
    ['0.1.0+build', '0.1.0', false],
    ['x', '0.1.0', false],
    ['1.0.0', '', false],
  ] as const) {
    it(`${one} is ${expected ? '' : 'not '}newer than "${other}"`, () => assert.equal(isNewer(one, other), expected));
  }
});

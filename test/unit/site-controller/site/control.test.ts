import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isControlled } from '../../../../src/site-controller/site/control.ts';
import type { ConfigMap } from '../../../../src/kube/objects.ts';

const everywhere = { name: 'skupper-controller', namespace: 'skupper', requireExplicitControl: false };
const explicit = { ...everywhere, requireExplicitControl: true };
const one = { ...everywhere, namespace: 'west', watchNamespace: 'west' };

describe('whether a namespace is of a controller', () => {
  for (const [what, namespace, controller, settings, expected] of [
    ['that sees all, where none is named', 'west', undefined, everywhere, true],
    ['that sees all, and is named', 'west', 'skupper/skupper-controller', everywhere, true],
    ['that sees all, where another is named', 'west', 'skupper/other', everywhere, false],
    ['that sees all, where one of another namespace is named', 'west', 'other/skupper-controller', everywhere, false],
    ['that sees all, where one of the namespace itself is named', 'west', 'skupper-controller', everywhere, false],
    ['that sees all, where the name is empty', 'west', '', everywhere, true],
    ['that waits to be named, and is not', 'west', undefined, explicit, false],
    ['that waits to be named, and is', 'west', 'skupper/skupper-controller', explicit, true],
    ['that waits to be named, and is in the namespace', 'skupper', undefined, explicit, true],
    ['of that one namespace, and is not named', 'west', undefined, one, false],
    ['of that one namespace, and is named', 'west', 'skupper-controller', one, true],
    ['of that one namespace, and is named in full', 'west', 'west/skupper-controller', one, true],
    ['of that one namespace, where the one for all is named', 'west', 'skupper/skupper-controller', one, false],
  ] as const) {
    test(`${what}: ${expected ? 'it is' : 'it is not'}`, () => {
      const control: ConfigMap | undefined = controller === undefined ? undefined : { metadata: { name: 'skupper' }, data: { controller } };
      assert.equal(isControlled(namespace, control, settings), expected);
    });
  }
});

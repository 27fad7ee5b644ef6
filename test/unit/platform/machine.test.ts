import assert from 'node:assert/strict';
import { test } from 'node:test';
import { machinePlatform } from '../../../src/platform/linux/machine.ts';

for (const [value, name, hasNetworks] of [
  ['', 'linux', false],
  ['linux', 'linux', false],
  ['kubernetes', 'linux', false],
  ['podman', 'podman', true],
  ['docker', 'docker', true],
] as const) {
  test(`a site on a machine with EARSHOT_PLATFORM=${value} has platform ${name}`, () => {
    const platform = machinePlatform(value);
    assert.equal(platform.name, name);
    assert.equal(platform.capabilities.has('container-networks'), hasNetworks);
  });
}

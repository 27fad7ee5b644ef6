import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runSite } from '../../../src/cli/processes/run-site.ts';

for (const [network, expected] of [
  ['a b', /^The router of the network "a b" cannot start: "a b" cannot be the name of a container network; use letters/],
  ['podman', /cannot start: containers of podman have no names in DNS; create a network/],
  ['apps', /cannot start: it does not run in a container\. Start it with `earshot system start`/],
] as const) {
  test(`a router of the network ${network} that cannot be started says why, before it touches the namespace`, async () => {
    const run = runSite({ namespace: 'west', network, httpPort: 0, logLevel: 'silent', records: 0 }, AbortSignal.abort());
    await assert.rejects(run, { code: 'usage', message: expected });
  });
}

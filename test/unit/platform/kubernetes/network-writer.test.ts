import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Report } from '../../../../src/agent/ports.ts';
import type { ConfigMap, KubeObject } from '../../../../src/kube/objects.ts';
import { writeNetworkStatus } from '../../../../src/platform/kubernetes/network-writer.ts';
import type { RouterState } from '../../../../src/router/contract.ts';
import { aListener, resources } from '../../site/fixtures.ts';

const KEY = 'pod-keys.json';

/** Record of single pods by a router that sees no other site and has one pod's key. */
async function writtenKeys({ settled, linkUp }: { readonly settled: boolean; readonly linkUp: boolean }): Promise<unknown> {
  const links = { 'Link/east': { operational: linkUp } };
  const router: RouterState = { listeners: {}, connectors: {}, links, accesses: {}, incoming: [], network: [] };
  const config = {
    edge: false,
    listeners: [],
    connectors: [],
    links: [{ name: 'Link/east', endpoints: [], cost: 1, tls: { name: 'x' } }],
    accesses: [],
  };
  const report: Report = {
    resources: resources(aListener('web', { exposePodsByName: true, routingKey: 'web' })),
    statuses: new Map(),
    problems: [],
    plan: { config, problems: [], selectedPods: new Map(), heldPorts: [], networks: new Map(), routerNetworks: [] },
    router,
  };
  const standing: ConfigMap = { metadata: { uid: 'u', name: 'skupper-network-status' }, data: { [KEY]: '["web.pod-1"]' } };
  let written: unknown;
  const client = {
    patch: <T extends KubeObject>(_of: unknown, _key: unknown, patch: unknown): Promise<T> => {
      written = (patch as ConfigMap).data?.[KEY];
      return Promise.resolve(standing as unknown as T);
    },
  };
  await writeNetworkStatus(report, { client, namespace: 'west', standing, settled, apart: [], signal: new AbortController().signal });
  return written;
}

describe('the routing keys of single pods', () => {
  for (const [what, how, keys] of [
    ['stand while a router has just started, and others may not have linked to it yet', { settled: false, linkUp: true }, '["web.pod-1"]'],
    ['stand while a link of the site is down', { settled: true, linkUp: false }, '["web.pod-1"]'],
    ['go once the network is seen without them', { settled: true, linkUp: true }, '[]'],
  ] as const) {
    it(what, async () => {
      assert.equal(await writtenKeys(how), keys);
    });
  }
});

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { clusterDomainIn, parseClusterDomain } from '../../../src/exposure/cluster-domain.ts';

suite('the domain of the cluster', () => {
  const resolvConfs: readonly (readonly [what: string, text: string, domain: string | undefined])[] = [
    [
      'a kubelet’s',
      'search ns.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.96.0.10\noptions ndots:5\n',
      'cluster.local',
    ],
    ['another domain', 'nameserver 10.96.0.10\nsearch ns.svc.k8s.corp.example svc.k8s.corp.example\n', 'k8s.corp.example'],
    ['one label', 'search ns.svc.local svc.local local', 'local'],
    ['dots at the end', 'search ns.svc.cluster.local. svc.cluster.local.', 'cluster.local'],
    ['upper case and tabs', 'search\tNS.SVC.Cluster.Local\tsvc.cluster.local', 'cluster.local'],
    ['Windows lines', 'search ns.svc.cluster.local svc.cluster.local\r\nnameserver 1.2.3.4\r\n', 'cluster.local'],
    ['the machine’s own behind it', 'search ns.svc.inner svc.inner inner other.svc.outer svc.outer', 'inner'],
    ['a list that another one replaces', 'search ns.svc.first\nsearch ns.svc.second', 'second'],
    ['a list that a domain replaces', 'search ns.svc.first\ndomain corp.example', undefined],
    ['another pod’s', 'search other.svc.cluster.local svc.cluster.local', undefined],
    ['no cluster’s', 'search corp.example\nnameserver 192.0.2.1', undefined],
    ['comments', '# search ns.svc.a\n; search ns.svc.b\nsearching ns.svc.c', undefined],
    ['nothing behind svc', 'search ns.svc. svc', undefined],
    ['a list without names', 'search', undefined],
    ['what is no name', 'search ns.svc.a;b ns.svc.cluster.local', undefined],
    ['control characters', 'search ns.svc.a\u0000b', undefined],
    ['a name that is too long', `search ns.svc.${'a'.repeat(63)}.${'b.'.repeat(100)}c`, undefined],
    ['empty', '', undefined],
  ];
  for (const [what, text, domain] of resolvConfs) {
    test(`is found in resolv.conf, or is not: ${what}`, () => assert.equal(clusterDomainIn(text, 'ns'), domain));
  }

  test('is taken with the dot at its end, and is a name', () => {
    const given = ['cluster.local', 'cluster.local.', 'CORP.example', '', '.', 'a..b', 'a b', 'cluster.local..', '-a'];
    assert.deepEqual(given.map(parseClusterDomain), [
      'cluster.local',
      'cluster.local',
      'corp.example',
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });
});

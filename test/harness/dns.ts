import { writeFile } from 'node:fs/promises';
import type { ApiRequests } from './api-requests.ts';
import { DNS_USER, kubeconfigOf } from './credentials.ts';
import type { ClusterLayout } from './layout.ts';
import { answers } from './probe.ts';
import { startProcess, untilReady, type ProcessRecord } from './processes.ts';

/** Names of nodes that tests invent (Node.status.addresses of type Hostname); CoreDNS serves them, and clients outside read them. */
export function hostsFileOf(layout: ClusterLayout): string {
  return `${layout.dir}/hosts`;
}

/** CoreDNS as a process on the host, reached in the cluster by the usual Service kube-dns with an EndpointSlice written by hand. */
export async function startDns(layout: ClusterLayout, binaries: string, api: ApiRequests): Promise<ProcessRecord> {
  const corefile = `${layout.dir}/Corefile`;
  const ready = `${layout.loopback}:8181`;
  // No `forward`: a name from outside is refused at once instead of leaving the machine.
  await writeFile(
    corefile,
    `.:53 {
  bind ${layout.host.v4}
  errors
  ready ${ready}
  hosts ${hostsFileOf(layout)} {
    reload 1s
    ttl 1
    fallthrough
  }
  kubernetes ${layout.domain} in-addr.arpa ip6.arpa {
    kubeconfig ${kubeconfigOf(layout, 'coredns')}
    ttl 1
  }
}
`,
  );
  await grant(api);
  await expose(layout, api);
  const record = await startProcess({
    component: 'coredns',
    program: `${binaries}/coredns`,
    args: ['-conf', corefile],
    log: `${layout.logs}/coredns.log`,
  });
  await untilReady(record, () => answers(`http://${ready}/ready`), { everyMs: 50 });
  return record;
}

async function grant(api: ApiRequests): Promise<void> {
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const verbs = ['list', 'watch'];
  await api.create(`${rbac}/clusterroles`, {
    metadata: { name: DNS_USER },
    rules: [
      { apiGroups: [''], resources: ['services', 'pods', 'namespaces', 'endpoints'], verbs },
      { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs },
    ],
  });
  await api.create(`${rbac}/clusterrolebindings`, {
    metadata: { name: DNS_USER },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: DNS_USER },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: DNS_USER }],
  });
}

async function expose(layout: ClusterLayout, api: ApiRequests): Promise<void> {
  const ports = [
    { name: 'dns', protocol: 'UDP', port: 53 },
    { name: 'dns-tcp', protocol: 'TCP', port: 53 },
  ];
  await api.create('/api/v1/namespaces/kube-system/services', {
    metadata: { name: 'kube-dns', labels: { 'k8s-app': 'kube-dns' } },
    spec: { clusterIP: layout.dnsAddress, ipFamilyPolicy: 'SingleStack', ipFamilies: ['IPv4'], ports },
  });
  await api.create('/apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices', {
    metadata: {
      name: 'kube-dns-host',
      labels: { 'kubernetes.io/service-name': 'kube-dns', 'endpointslice.kubernetes.io/managed-by': 'harness' },
    },
    addressType: 'IPv4',
    endpoints: [{ addresses: [layout.host.v4], conditions: { ready: true } }],
    ports,
  });
}

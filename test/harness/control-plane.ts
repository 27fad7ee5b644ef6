import { mkdir, writeFile } from 'node:fs/promises';
import type { ApiRequests } from './api-requests.ts';
import { kubeconfigOf } from './credentials.ts';
import { API_PORT, families, type ClusterLayout } from './layout.ts';
import { answers } from './probe.ts';
import { startProcess, untilReady, type ProcessRecord } from './processes.ts';

/** The four servers of a control plane, as processes on the host. */
export async function startEtcd(layout: ClusterLayout, binaries: string): Promise<ProcessRecord> {
  const url = `http://${layout.loopback}:2379`;
  const peers = `http://${layout.loopback}:2380`;
  const record = await startProcess({
    component: 'etcd',
    program: `${binaries}/server`,
    // Nothing of a test cluster outlives the machine: no need to wait for its disk.
    args: [
      `--data-dir=${layout.dir}/etcd`,
      '--name=test',
      '--unsafe-no-fsync',
      '--log-level=warn',
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      `--listen-peer-urls=${peers}`,
      `--initial-advertise-peer-urls=${peers}`,
      `--initial-cluster=test=${peers}`,
      '--quota-backend-bytes=4294967296',
    ],
    log: `${layout.logs}/etcd.log`,
  });
  await untilReady(record, () => answers(`${url}/readyz`), { everyMs: 20 });
  return record;
}

export async function startApiServer(layout: ClusterLayout, binaries: string, api: ApiRequests): Promise<ProcessRecord> {
  const credentials = `${layout.dir}/credentials`;
  const policy = `${layout.dir}/audit-policy.json`;
  await mkdir(`${layout.dir}/audit`, { recursive: true });
  await writeFile(
    policy,
    JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', omitStages: ['RequestReceived'], rules: [{ level: 'Metadata' }] }),
  );
  const admission = `${layout.dir}/admission.json`;
  await writeFile(admission, JSON.stringify(criticalPodsNeedQuota));
  const record = await startProcess({
    component: 'kube-apiserver',
    program: `${binaries}/kube-apiserver`,
    args: [
      `--etcd-servers=http://${layout.loopback}:2379`,
      `--bind-address=${layout.host.v4}`,
      `--advertise-address=${layout.host.v4}`,
      `--secure-port=${API_PORT}`,
      `--service-cluster-ip-range=${families(layout.serviceRange).join(',')}`,
      `--tls-cert-file=${credentials}/apiserver.crt`,
      `--tls-private-key-file=${credentials}/apiserver.key`,
      `--client-ca-file=${credentials}/ca.crt`,
      `--token-auth-file=${credentials}/tokens.csv`,
      '--authorization-mode=Node,RBAC',
      '--enable-admission-plugins=NodeRestriction',
      `--admission-control-config-file=${admission}`,
      '--allow-privileged=true',
      '--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname',
      `--kubelet-client-certificate=${credentials}/kubelet-client.crt`,
      `--kubelet-client-key=${credentials}/kubelet-client.key`,
      '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
      `--service-account-key-file=${credentials}/service-accounts.pub`,
      `--service-account-signing-key-file=${credentials}/service-accounts.key`,
      `--audit-policy-file=${policy}`,
      `--audit-log-path=${auditLogOf(layout)}`,
      '--audit-log-maxsize=10000',
      '--profiling=false',
      '--v=1',
    ],
    log: `${layout.logs}/kube-apiserver.log`,
  });
  await untilReady(record, () => api.ready(), { everyMs: 50, timeoutMs: 120_000 });
  return record;
}

/** As on GKE: pods of these classes are let in only where a quota of their namespace names them (there kube-system comes with one). */
const criticalPodsNeedQuota = {
  apiVersion: 'apiserver.config.k8s.io/v1',
  kind: 'AdmissionConfiguration',
  plugins: [
    {
      name: 'ResourceQuota',
      configuration: {
        apiVersion: 'apiserver.config.k8s.io/v1',
        kind: 'ResourceQuotaConfiguration',
        limitedResources: [
          {
            resource: 'pods',
            matchScopes: [{ scopeName: 'PriorityClass', operator: 'In', values: ['system-node-critical', 'system-cluster-critical'] }],
          },
        ],
      },
    },
  ],
};

export function auditLogOf(layout: ClusterLayout): string {
  return `${layout.dir}/audit/audit.log`;
}

export async function startControllerManager(layout: ClusterLayout, binaries: string): Promise<ProcessRecord> {
  const credentials = `${layout.dir}/credentials`;
  return startProcess({
    component: 'kube-controller-manager',
    program: `${binaries}/kube-controller-manager`,
    args: [
      `--kubeconfig=${kubeconfigOf(layout, 'kube-controller-manager')}`,
      '--leader-elect=false',
      '--use-service-account-credentials',
      `--bind-address=${layout.loopback}`,
      `--root-ca-file=${credentials}/ca.crt`,
      `--service-account-private-key-file=${credentials}/service-accounts.key`,
      '--allocate-node-cidrs=false',
      `--flex-volume-plugin-dir=${layout.dir}/flexvolume`,
      '--profiling=false',
      '--v=1',
    ],
    log: `${layout.logs}/kube-controller-manager.log`,
  });
}

export async function startScheduler(layout: ClusterLayout, binaries: string): Promise<ProcessRecord> {
  return startProcess({
    component: 'kube-scheduler',
    program: `${binaries}/kube-scheduler`,
    args: [
      `--kubeconfig=${kubeconfigOf(layout, 'kube-scheduler')}`,
      '--leader-elect=false',
      `--bind-address=${layout.loopback}`,
      '--profiling=false',
      '--v=1',
    ],
    log: `${layout.logs}/kube-scheduler.log`,
  });
}

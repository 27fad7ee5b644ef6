import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { run } from './command.ts';
import type { ClusterLayout } from './layout.ts';
import { API_PORT } from './layout.ts';

/** Bearer tokens for the API server: the people and the servers of the cluster, each under its own name in the audit log. */
export interface Credentials {
  readonly folder: string;
  readonly ca: string;
  readonly tokens: Readonly<Record<string, string>>;
}

interface Person {
  /** Name of the kubeconfig file, and key of the token. */
  readonly key: string;
  readonly user: string;
  readonly groups: readonly string[];
}

export const ADMIN = 'admin';
export const HARNESS = 'harness';
export const DNS_USER = 'system:coredns';

function people(layout: ClusterLayout): readonly Person[] {
  return [
    { key: ADMIN, user: 'admin', groups: ['system:masters'] },
    { key: HARNESS, user: 'harness', groups: ['system:masters'] },
    { key: 'kube-controller-manager', user: 'system:kube-controller-manager', groups: [] },
    { key: 'kube-scheduler', user: 'system:kube-scheduler', groups: [] },
    { key: 'kube-proxy', user: 'system:kube-proxy', groups: [] },
    { key: 'coredns', user: DNS_USER, groups: [] },
    { key: 'metallb', user: 'system:serviceaccount:metallb-system:controller', groups: ['system:masters'] },
    ...layout.nodes.map((node) => ({ key: node.name, user: `system:node:${node.name}`, groups: ['system:nodes'] })),
  ];
}

/** Makes a certificate authority, the servers' certificates, the key of service account tokens, and a kubeconfig for each person. */
export async function createCredentials(layout: ClusterLayout): Promise<Credentials> {
  const folder = `${layout.dir}/credentials`;
  await openssl(folder, 'ca', '/CN=earshot-test-ca', ['-addext', 'keyUsage=critical,keyCertSign,cRLSign']);
  const service = layout.serviceRange.v4.replace(/\.0\/16$/, '.1');
  const names = ['kubernetes', 'kubernetes.default', 'kubernetes.default.svc', 'kubernetes.default.svc.cluster.local', 'localhost'];
  const subjects = [...names.map((name) => `DNS:${name}`), `IP:${layout.host.v4}`, `IP:${service}`, 'IP:127.0.0.1'].join(',');
  await Promise.all([
    openssl(folder, 'apiserver', '/CN=kube-apiserver', ['-addext', `subjectAltName=${subjects}`, '-CA', 'ca.crt', '-CAkey', 'ca.key']),
    openssl(folder, 'kubelet-client', '/O=system:masters/CN=kube-apiserver-kubelet-client', ['-CA', 'ca.crt', '-CAkey', 'ca.key']),
  ]);

  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  await writeFile(`${folder}/service-accounts.pub`, publicKey.export({ type: 'spki', format: 'pem' }));
  await writeFile(`${folder}/service-accounts.key`, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });

  const ca = await readFile(`${folder}/ca.crt`, 'utf8');
  const tokens: Record<string, string> = {};
  const lines: string[] = [];
  for (const { key, user, groups } of people(layout)) {
    const token = randomBytes(24).toString('hex');
    tokens[key] = token;
    lines.push([token, user, user, `"${groups.join(',')}"`].join(','));
    await writeFile(kubeconfigOf(layout, key), kubeconfig(layout, ca, user, token), { mode: 0o600 });
  }
  await writeFile(`${folder}/tokens.csv`, `${lines.join('\n')}\n`, { mode: 0o600 });
  return { folder, ca, tokens };
}

export function kubeconfigOf(layout: ClusterLayout, key: string): string {
  return key === ADMIN ? `${layout.dir}/kubeconfig` : `${layout.dir}/credentials/${key}.kubeconfig`;
}

function kubeconfig(layout: ClusterLayout, ca: string, user: string, token: string): string {
  // Apart from those of other clusters: who reads several files as one takes the first of a name.
  const name = `${user}@${layout.name}`;
  // JSON is YAML, and every reader of kubeconfig files takes it.
  return JSON.stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        {
          name: layout.name,
          cluster: { server: `https://${layout.host.v4}:${API_PORT}`, 'certificate-authority-data': Buffer.from(ca).toString('base64') },
        },
      ],
      users: [{ name, user: { token } }],
      contexts: [{ name: layout.name, context: { cluster: layout.name, user: name } }],
      'current-context': layout.name,
    },
    undefined,
    2,
  );
}

async function openssl(folder: string, name: string, subject: string, extra: readonly string[]): Promise<void> {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', `${name}.key`];
  await run('openssl', ['req', '-x509', ...key, '-subj', subject, '-days', '3650', '-out', `${name}.crt`, ...extra], { cwd: folder });
}

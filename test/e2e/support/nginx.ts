/** A server with TLS that is not ours, certificates for both ends of a connection to it, and each of these a second time to follow the first. */
import type { KubeObject } from '../../../src/kube/objects.ts';
import { pod, type Manifest } from './manifests.ts';
import type { Namespace } from './namespace.ts';
import { mounted } from './programs.ts';
import { rsaAuthority, rsaCertificate } from './rsa-certificates.ts';

export const AGES = ['old', 'new'] as const;
export type Age = (typeof AGES)[number];

const NGINX = 'nginx -e stderr -c /tmp/nginx.conf';

/** Admits clients with a certificate of either authority, and answers with that authority. */
function nginxConfig(age: Age): string {
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((part) => `${part}_temp_path /tmp/${part};`);
  return `
daemon off; user root; worker_processes 1; pid /tmp/nginx.pid;
events {}
http {
  access_log off; keepalive_timeout 600s; ${folders.join(' ')}
  server {
    listen 8443 ssl;
    ssl_certificate /server-${age}/tls.crt; ssl_certificate_key /server-${age}/tls.key;
    ssl_verify_client on; ssl_client_certificate /server-${age}/ca.crt;
    location / { return 200 "$ssl_client_s_dn at ${age}"; }
  }
}`;
}

/** For the pod below: one for each certificate. */
export function nginxConfigs(): Manifest {
  const data = Object.fromEntries(AGES.map((age) => [age, nginxConfig(age)]));
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'nginx' }, data } as KubeObject;
}

export function nginx(image: string): Manifest {
  const { volumes, volumeMounts } = mounted(AGES.map((age) => `server-${age}`));
  return pod('tls', {
    image,
    labels: { app: 'tls' },
    script: `cp /nginx/old /tmp/nginx.conf; exec ${NGINX}`,
    container: { volumeMounts: [...volumeMounts, { name: 'nginx', mountPath: '/nginx' }] },
    spec: { volumes: [...volumes, { name: 'nginx', configMap: { name: 'nginx' } }] },
  });
}

export type Data = Readonly<Record<string, string>>;

export interface Certificates {
  readonly front: Readonly<Record<Age, Data>>;
  readonly back: Readonly<Record<Age, Data>>;
  readonly server: Readonly<Record<Age, Data>>;
  readonly trusted: { readonly both: string };
}

/** Bundles of two authorities: for the listener, for the connector and for the server behind it. */
export async function makeCertificates(): Promise<Certificates> {
  const authorities = { old: await rsaAuthority('old'), new: await rsaAuthority('new') };
  const created = async (name: string): Promise<Readonly<Record<Age, Data>>> => ({
    old: await rsaCertificate(authorities.old, `${name}-old`, ['tls']),
    new: await rsaCertificate(authorities.new, `${name}-new`, ['tls']),
  });
  const both = AGES.map((age) => `${authorities[age].certificate.toString('pem')}\n`).join('');
  return {
    front: await created('front'),
    back: await created('back'),
    server: await created('server'),
    trusted: { both: Buffer.from(both).toString('base64') },
  };
}

export function secret(name: string, data: Data): Manifest {
  const type = 'tls.crt' in data ? 'kubernetes.io/tls' : 'Opaque';
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, type, data } as KubeObject;
}

/** Has the server show another certificate: connections that it has are not ended by that. */
export function serve(namespace: Namespace, age: Age): Promise<string> {
  return namespace.exec('tls', ['sh', '-c', `cp /nginx/${age} /tmp/nginx.conf && ${NGINX} -s reload`]);
}

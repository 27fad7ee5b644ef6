import { createHash } from 'node:crypto';
import { certificates, sites, type Endpoint, type Site } from '../../../api/skupper/index.ts';
import { API_VERSION } from '../../../api/skupper/names.ts';
import { EarshotError } from '../../../errors/earshot-error.ts';
import type { KubeClient } from '../../../kube/contract.ts';
import { secrets } from '../../../kube/resource.ts';
import { apiVersionOf } from '../../../kube/resource.ts';
import { unreachableText } from '../../../site/site-endpoints.ts';
import { isRecord } from '../../../text/is-record.ts';
import { printable } from '../../../text/printable.ts';
import type { OfferedLink } from '../../resources.ts';
import type { ClusterReader } from './reader.ts';
import { writeManifest } from './write.ts';

interface Where {
  readonly client: KubeClient;
  readonly reader: ClusterReader;
  readonly namespace: string;
}

/** Returns a certificate of the site's authority for another site, issued by the controller, and a Link for each group of endpoints. */
export async function linkToHere({ client, reader, namespace }: Where, site: Site, host: string | undefined): Promise<OfferedLink> {
  const { status } = site;
  if (status?.status !== 'Ready')
    return { waitingFor: `the site is ${status?.status ?? 'Pending'}: ${status?.message ?? 'no controller has reconciled it'}` };
  const all = status.endpoints ?? [];
  const endpoints = host === undefined ? all : all.filter((endpoint) => endpoint.host === host);
  if (all.length === 0) return { waitingFor: 'the addresses of this site are not known yet' };
  if (endpoints.length === 0) throw new EarshotError('not-found', unreachableText(host ?? '', hostsOf(all)));
  const name = nameFrom('link', site.metadata.name ?? '');
  const certificate = await reader.find(certificates, name);
  if (certificate === undefined) await writeManifest(client, namespace, certificateFor(site, name, hostsOf(all)));
  const data: unknown = new Map(Object.entries((await reader.find(secrets, name)) ?? {})).get('data');
  if (!isRecord(data) || BUNDLE.some((key) => typeof data[key] !== 'string')) {
    const refused = certificate?.status?.conditions?.find(
      ({ type, status: holds, reason }) => type === 'Ready' && holds === 'False' && reason === 'Error',
    );
    if (refused === undefined) return { waitingFor: `the certificate ${name} is not issued yet` };
    return { waitingFor: `the certificate ${name} cannot be issued: ${printable(refused.message)}`, error: true };
  }
  const groups = Map.groupBy(endpoints, ({ group }) => group ?? '');
  return {
    documents: [
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name },
        type: 'kubernetes.io/tls',
        data: Object.fromEntries(BUNDLE.map((key) => [key, data[key]])),
      },
      ...[...groups].map(([group, those]) => linkFor(nameFrom(name, group), name, those)),
    ],
  };
}

const BUNDLE = ['tls.crt', 'tls.key', 'ca.crt'] as const;

function certificateFor({ metadata, status }: Site, name: string, hosts: readonly string[]): Parameters<typeof writeManifest>[2] {
  const owner = { apiVersion: apiVersionOf(sites), kind: 'Site', name: metadata.name ?? '', uid: metadata.uid ?? '' };
  return {
    apiVersion: API_VERSION,
    kind: 'Certificate',
    // Deleting the Site deletes the Certificate, which revokes the access.
    metadata: { name, ownerReferences: [owner] },
    spec: { ca: status?.defaultIssuer ?? '', client: true, subject: hosts.join(',') },
  };
}

function linkFor(name: string, tlsCredentials: string, endpoints: readonly Endpoint[]): object {
  return { apiVersion: API_VERSION, kind: 'Link', metadata: { name }, spec: { cost: 1, endpoints, tlsCredentials } };
}

function hostsOf(endpoints: readonly Endpoint[]): readonly string[] {
  return [...new Set(endpoints.flatMap(({ host }) => (host === undefined ? [] : [host])))];
}

/** Maximum length of a name. A longer one is truncated and ends with a hash. */
const MOST_CHARACTERS = 253;

/** Joins the parts to a valid name. */
export function nameFrom(...parts: readonly string[]): string {
  const name = parts
    .map((part) =>
      part
        .toLowerCase()
        .replaceAll(/[^a-z0-9.-]+/g, '-')
        .replaceAll(/^[.-]+|[.-]+$/g, ''),
    )
    .filter((part) => part !== '')
    .join('-');
  if (name.length <= MOST_CHARACTERS) return name;
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8);
  return `${name.slice(0, MOST_CHARACTERS - 9).replace(/[.-]+$/, '')}-${hash}`;
}

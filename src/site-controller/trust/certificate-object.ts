import { annotation, label } from '../../api/skupper/cluster-names.ts';
import { API_VERSION } from '../../api/skupper/names.ts';
import { skupperResources, type Certificate } from '../../api/skupper/index.ts';
import type { KubeObject, StringMap } from '../../kube/objects.ts';
import { findNamed, type ResourceKey } from '../../site/resources.ts';
import { foreignController } from '../../site/foreign-controller.ts';
import { quoted } from '../../text/printable.ts';
import { ownerOf, type NamespaceView } from '../namespace-view.ts';
import { emptyDesiredState, type DesiredState } from '../desired-state.ts';

export interface DesiredCertificate {
  readonly name: string;
  /** Secret of the CA; empty if self-signed. */
  readonly ca: string;
  readonly subject: string;
  readonly server?: boolean;
  readonly client?: boolean;
  readonly signing?: boolean;
  readonly settings?: StringMap;
  /** Owners, each with the hosts that it needs. The Certificate is deleted with the last of them. */
  readonly owners: readonly { readonly owner: KubeObject; readonly hosts: readonly string[] }[];
  /** Resource whose status reports that the Certificate is not available. */
  readonly for: ResourceKey;
}

/** A Certificate that the site needs itself. A user's Certificate of that name stays, and is reported as a problem. */
export function desiredCertificate(view: Pick<NamespaceView, 'resources' | 'unreadable'>, desired: DesiredCertificate): DesiredState {
  const there = certificateNamed(view, desired.name);
  if (there !== undefined && !isControlled(there)) {
    const message = `certificate ${quoted(desired.name)} exists but is not controlled by skupper: rename it, because the site needs the name`;
    return {
      ...emptyDesiredState,
      problems: [{ resource: desired.for, severity: 'error' as const, code: 'name-taken' as const, message }],
    };
  }
  return { ...emptyDesiredState, objects: [{ of: skupperResources.Certificate, object: certificateObject(desired), for: desired.for }] };
}

/** Unreadable Certificates of one reconcile. */
const unreadableCertificates = new WeakMap<NamespaceView['unreadable'], NamespaceView['unreadable']>();

/** Finds an unreadable one too: its name, owners and annotations are known. */
export function certificateNamed(
  { resources, unreadable }: Pick<NamespaceView, 'resources' | 'unreadable'>,
  name: string,
): Pick<Certificate, 'metadata'> | undefined {
  const ofKind = unreadableCertificates.getOrInsertComputed(unreadable, () => unreadable.filter(({ kind }) => kind === 'Certificate'));
  return findNamed(resources.Certificate, name) ?? findNamed(ofKind, name);
}

/** Whether a site controller created it. */
export function isControlled({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[annotation.controlled] === 'true' && foreignController(metadata) === undefined;
}

function certificateObject({
  name,
  ca,
  subject,
  server = false,
  client = false,
  signing = false,
  settings,
  owners,
}: DesiredCertificate): Certificate {
  const hosts = [...new Set(owners.flatMap((one) => one.hosts))].sort();
  const ofOwners = owners.map(({ owner, hosts: own }) => [`${annotation.hosts}-${owner.metadata.uid ?? ''}`, own.join(',')]);
  return {
    apiVersion: API_VERSION,
    kind: 'Certificate',
    metadata: {
      name,
      labels: { [label.certificate]: 'true' },
      annotations: { [annotation.controlled]: 'true', ...Object.fromEntries(ofOwners) },
      ownerReferences: owners.map(({ owner }) => ownerOf(owner)),
    },
    spec: {
      ca,
      subject,
      client,
      server,
      signing,
      ...(hosts.length === 0 ? {} : { hosts }),
      ...(settings === undefined ? {} : { settings }),
    },
  };
}

/** TLS bundles that the site must issue for itself (pure). */
import type { Connector, Listener, MultiKeyListener, Site } from '../../api/skupper/index.ts';
import { addressHosts, certificateHosts, type Reach } from '../site-endpoints.ts';
import { listAccesses, type Access } from './access.ts';
import { isGiven } from './fields.ts';
import { ROUTER_ALIAS } from '../networks.ts';
import { SETTING, settingOf } from '../settings.ts';
import { keyOf, nameOf, type ResourceKey, type SiteResources } from '../resources.ts';
import { asCommonName, isHost, isResourceName } from '../../text/names.ts';

export interface DesiredBundle {
  readonly name: string;
  readonly resource: ResourceKey;
  readonly issuer: Issuer;
  readonly order: {
    readonly subject: string;
    readonly hosts: readonly string[];
    /** Whether every host comes from a resource. Then a certificate with further names is replaced, so that a removed name ends. */
    readonly isExact?: boolean;
    readonly client: boolean;
    readonly server: boolean;
    readonly signing: boolean;
    /** Purpose in the certificate's mark, as the resource states it; undefined if it states none, and then no mark is set. */
    readonly purpose?: string;
  };
  /**
   * Set if a resource only names the bundle in `tlsCredentials`. A bundle of the user takes its place, and it is removed once no resource
   * names it.
   */
  readonly isGenerated?: true;
  /** Lifetime in days; the default if omitted. */
  readonly days?: number;
  /** Name on record, if it is not the resource. */
  readonly recordedAs?: string;
}

export type Issuer =
  /** The site's default CA. */
  | { readonly kind: 'default' }
  /** @property mayCreate whether the site creates the CA if it does not exist */
  | { readonly kind: 'named'; readonly name: string; readonly mayCreate?: true }
  | { readonly kind: 'self' };

/** Names of the site's own CA in resources; the second is the one in Skupper's manifests. */
export const SITE_ISSUERS: ReadonlySet<string> = new Set(['earshot-site-ca', 'skupper-site-ca']);

/** CA of generated bundles of Listeners, MultiKeyListeners and Connectors. Clients and servers of the site's applications trust it. */
export const SERVICE_ISSUER = 'skupper-service-ca';

/** As in a cluster. Servers load the copy of their certificate when they start, so they need months until they restart. */
const APPLICATION_DAYS = 365;

/** Key in `settings` of a Certificate: `link` or `application`. The default is `application`, unless an access presents the certificate. */
export const PURPOSE = 'purpose';

/**
 * CAs come first, since they may sign the others.
 * @param servers bundles of the site's other servers. A resource may name them too
 */
export function planCertificates(
  resources: SiteResources,
  site: Site,
  reach: Reach,
  servers: readonly DesiredBundle[] = [],
): readonly DesiredBundle[] {
  const { accesses } = listAccesses(resources, site);
  const desired = new Map(ofCertificates(resources, accesses).map((bundle) => [bundle.name, bundle]));
  const add = (bundle: DesiredBundle): void => {
    const before = desired.get(bundle.name);
    if (before === undefined) desired.set(bundle.name, bundle);
    else if (before.isGenerated === true) desired.set(bundle.name, merge(before, bundle));
  };
  for (const access of accesses) if (access.issued) add(ofAccess(access, site, reach));
  const ofLinks = new Set(resources.Link.map(({ spec }) => spec.tlsCredentials));
  const others = [...accesses.map(ofStaticLinks), ...ofTraffic(resources, reach)];
  // The bundle of a Link came with it, so its name is not free.
  for (const bundle of others) if (isResourceName(bundle.name) && !ofLinks.has(bundle.name)) add(bundle);
  // Two plans for one name would replace each other's certificate in each reconcile.
  servers.forEach(add);
  return [...desired.values()].sort((one, other) => Number(other.order.signing) - Number(one.order.signing));
}

/** Name of the bundle with the client certificate of an access's static links. */
export function staticLinkBundle({ bundle }: Pick<Access, 'bundle'>): string {
  return `client-${bundle}`;
}

/** Name of the static links of an access, under which their certificates are on record. */
export function staticLinkName({ name }: Pick<Access, 'name'>): string {
  return `link-${name}`;
}

/** Bundles that Certificates request. */
export function ofCertificates({ Certificate }: Pick<SiteResources, 'Certificate'>, accesses: readonly Access[]): readonly DesiredBundle[] {
  const ofAccesses = new Set(accesses.flatMap((access) => [access.bundle, staticLinkBundle(access)]));
  return Certificate.map((certificate) => {
    const { ca, subject, hosts, client, server, signing, settings } = certificate.spec;
    const name = nameOf(certificate);
    // A CA signs for any purpose. A certificate that an access or a static link presents is a link's.
    const purpose = signing === true ? {} : { purpose: settings?.[PURPOSE] ?? (ofAccesses.has(name) ? 'link' : 'application') };
    return {
      name,
      resource: keyOf(certificate),
      issuer: ca === '' ? { kind: 'self' } : issuerOf(ca),
      order: {
        subject: asCommonName(subject),
        hosts: hosts ?? [],
        client: client ?? false,
        server: server ?? false,
        signing: signing ?? false,
        ...purpose,
      },
    };
  });
}

function ofAccess(access: Access, site: Site, reach: Reach): DesiredBundle {
  return {
    name: access.bundle,
    resource: access.resource,
    issuer: issuerOfAccess(access),
    order: {
      subject: nameOf(site),
      hosts: certificateHosts(access, reach),
      isExact: access.bindHost !== undefined,
      client: false,
      server: true,
      signing: false,
    },
    isGenerated: true,
  };
}

function ofStaticLinks(access: Access): DesiredBundle {
  // A renewal over a link is recorded under the common name, so both are the same.
  const name = asCommonName(staticLinkName(access));
  return {
    name: staticLinkBundle(access),
    resource: access.resource,
    issuer: issuerOfAccess(access),
    order: { subject: name, hosts: [], client: true, server: false, signing: false, purpose: 'link' },
    isGenerated: true,
    recordedAs: name,
  };
}

function ofTraffic({ Listener, MultiKeyListener, Connector }: SiteResources, reach: Reach): readonly DesiredBundle[] {
  return [...Listener, ...MultiKeyListener, ...Connector].flatMap((object): readonly DesiredBundle[] => {
    const { host, tlsCredentials } = object.spec;
    if (!isGiven(tlsCredentials) || !isHost(host)) return [];
    const { hosts, isOfMachine } = addressHosts(host, reach);
    const isInNetwork = object.kind !== 'Connector' && isGiven(settingOf(object, SETTING.network));
    return [
      {
        name: tlsCredentials,
        resource: keyOf(object),
        issuer: { kind: 'named', name: SERVICE_ISSUER, mayCreate: true },
        order: {
          subject: asCommonName(host),
          hosts: isInNetwork ? [...hosts, ROUTER_ALIAS] : hosts,
          isExact: !isOfMachine,
          client: showsClientCertificate(object),
          server: true,
          signing: false,
          purpose: 'application',
        },
        isGenerated: true,
        days: APPLICATION_DAYS,
      },
    ];
  });
}

function showsClientCertificate(object: Listener | MultiKeyListener | Connector): boolean {
  return object.kind === 'Connector' && object.spec.useClientCert === true;
}

/** Several resources may share a bundle. Its certificate has the names of all, from the issuer of the first. */
function merge(first: DesiredBundle, { order }: DesiredBundle): DesiredBundle {
  return {
    ...first,
    order: {
      ...first.order,
      hosts: [...new Set([...first.order.hosts, ...order.hosts])],
      isExact: first.order.isExact === true && order.isExact === true,
      client: first.order.client || order.client,
      server: first.order.server || order.server,
    },
  };
}

function issuerOfAccess({ issuer }: Access): Issuer {
  if (issuer === undefined) return { kind: 'default' };
  const found = issuerOf(issuer);
  return found.kind === 'named' ? { ...found, mayCreate: true } : found;
}

function issuerOf(name: string): Issuer {
  return SITE_ISSUERS.has(name) ? { kind: 'default' } : { kind: 'named', name };
}

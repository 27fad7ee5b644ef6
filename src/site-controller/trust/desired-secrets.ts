/** Which certificates the Certificates of a namespace ask for, and when one is made anew: pure. */
import { LOCAL_CA, LOCAL_SERVER, SITE_CA } from '../../api/skupper/cluster-names.ts';
import { parseDuration } from '../../api/skupper/duration.ts';
import type { Certificate, Site } from '../../api/skupper/index.ts';
import type { CertificatePurpose } from '../../identity/certificate-purpose.ts';
import { listAccesses } from '../../site/plan/access.ts';
import { PURPOSE } from '../../site/plan/certificates.ts';
import { keyOf, nameOf, type ResourceKey } from '../../site/resources.ts';
import { asCommonName } from '../../text/names.ts';
import { quoted } from '../../text/printable.ts';
import { renewalDue } from '../../trust/renewal.ts';
import { TrustError } from '../../trust/errors.ts';
import { namesAll } from '../../x509/alternative-names.ts';
import type { CertificateFacts } from '../../x509/facts.ts';
import type { NamespaceView } from '../namespace-view.ts';

export interface WantedSecret {
  readonly certificate: Certificate;
  readonly name: string;
  readonly resource: ResourceKey;
  /** The Secret of the authority; undefined: it signs itself. */
  readonly ca: string | undefined;
  readonly subject: string;
  readonly hosts: readonly string[];
  readonly signing: boolean;
  /** Undefined for authorities. */
  readonly purpose: CertificatePurpose | undefined;
  /** The Certificate says what it is for, and a certificate from before it said so is made anew. */
  readonly isPurposeSaid: boolean;
  /** A RouterAccess that cannot be read may show it: its certificate stays what it is. */
  readonly keepsPurpose: boolean;
  /** A link's that another site shows, and may have renewed over the link. */
  readonly isGivenAway: boolean;
  readonly days: number;
}

/** `settings` of a Certificate: for how long it is issued, such as `720h`. */
export const LIFETIME = 'lifetime';

const YEAR = 365;
const DAY = 86_400_000;
const LONGEST = 3_650 * DAY;

/** The site's default authority. */
export function defaultIssuerOf(site: Pick<Site, 'spec'> | undefined): string {
  const { defaultIssuer = '' } = site?.spec ?? {};
  return defaultIssuer === '' ? SITE_CA : issuerNamed(defaultIssuer);
}

/** How a machine calls the site's own. */
function issuerNamed(name: string): string {
  return name === 'earshot-site-ca' ? SITE_CA : name;
}

/** Authorities first, those that sign themselves before those that others sign. */
export function desiredSecrets(
  { resources, unreadable }: Pick<NamespaceView, 'resources' | 'unreadable'>,
  site: Site | undefined,
): readonly WantedSecret[] {
  const accesses = site === undefined ? [] : listAccesses(resources, site).accesses;
  const shown = new Set(accesses.map(({ bundle }) => bundle));
  const isShownUnknown = unreadable.some(({ kind }) => kind === 'RouterAccess' || kind === 'Site');
  const rank = ({ signing, ca }: WantedSecret): number => (signing ? (ca === undefined ? 0 : 1) : 2);
  return resources.Certificate.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map((certificate) => ({
      ...wantedSecret(certificate, shown.has(nameOf(certificate)), defaultIssuerOf(site)),
      keepsPurpose: isShownUnknown && certificate.spec.settings?.[PURPOSE] === undefined,
    }))
    .toSorted((one, other) => rank(one) - rank(other));
}

function wantedSecret(certificate: Certificate, isShown: boolean, defaultIssuer: string): Omit<WantedSecret, 'keepsPurpose'> {
  const { ca, subject, hosts = [], settings, ...uses } = certificate.spec;
  const signing = uses.signing === true;
  const issuer = ca === '' ? undefined : issuerNamed(ca);
  const said = settings?.[PURPOSE];
  const isLink = said === undefined && isLinkByNature(certificate, isShown, issuer === defaultIssuer);
  const purpose = signing ? undefined : isLink || said === 'link' ? 'link' : said === 'api' ? 'api' : 'application';
  return {
    certificate,
    name: nameOf(certificate),
    resource: keyOf(certificate),
    ca: issuer,
    subject: asCommonName(subject),
    hosts,
    signing,
    purpose,
    isPurposeSaid: !signing && said !== undefined,
    isGivenAway: purpose === 'link' && isOfClient(certificate) && !isShown,
    days: signing ? 5 * YEAR + 1 : lifetimeOf(settings?.[LIFETIME]),
  };
}

/**
 * Existing tools ask for a link's certificate by way of a Certificate, and do not say so: it is for a client alone, of the site's own authority, and
 * names no host. What routers show is a link's as well.
 */
function isLinkByNature(certificate: Certificate, isShown: boolean, isOfDefault: boolean): boolean {
  if (isShown) return true;
  if (nameOf(certificate) === LOCAL_SERVER && certificate.spec.ca === LOCAL_CA) return true;
  return isOfDefault && isOfClient(certificate) && (certificate.spec.hosts ?? []).length === 0;
}

const isOfClient = ({ spec }: Certificate): boolean => spec.client === true && spec.server !== true;

/** Days; what is wrong is told by `refuseSettings`. */
function lifetimeOf(text: string | undefined): number {
  const lifetime = text === undefined ? undefined : parseDuration(text);
  return lifetime === undefined ? YEAR : Math.min(lifetime, LONGEST) / DAY;
}

const PURPOSES: ReadonlySet<string> = new Set<CertificatePurpose>(['link', 'application', 'api']);

/** @throws TrustError `bad-argument` */
export function refuseSettings({ certificate: { spec } }: WantedSecret): void {
  const { [PURPOSE]: purpose, [LIFETIME]: lifetime } = spec.settings ?? {};
  if (purpose !== undefined && !PURPOSES.has(purpose)) {
    throw new TrustError('bad-argument', `settings.${PURPOSE} is ${quoted(purpose, 100)}, and must be "link", "application" or "api"`);
  }
  if (purpose === 'api' && (spec.signing === true || spec.ca !== LOCAL_CA)) {
    throw new TrustError('bad-argument', `settings.${PURPOSE} is "api", so spec.ca must be ${LOCAL_CA}, by which routers know who may ask`);
  }
  const given = lifetime === undefined ? undefined : parseDuration(lifetime);
  if (lifetime !== undefined && (given === undefined || given < 60_000 || given > LONGEST)) {
    throw new TrustError(
      'bad-argument',
      `settings.${LIFETIME} is ${quoted(lifetime, 100)}, and must be a length of time from 1m to 87600h`,
    );
  }
  if (spec.ca === '' && spec.signing !== true) {
    throw new TrustError('bad-argument', `only a signing certificate can sign itself; name an authority in spec.ca, such as ${SITE_CA}`);
  }
}

/** What is known of a certificate that is there. */
export interface Standing {
  readonly facts: CertificateFacts;
  /** By its mark. */
  readonly purpose: CertificatePurpose | undefined;
  /** Certificate and key belong together. */
  readonly isWhole: boolean;
  /** Of an authority; see `authorityKeyOf`. */
  readonly authorityKey?: string;
}

/** As far as its holder is concerned: a person's is asked for no more than this. */
export function serves(
  { facts }: Pick<Standing, 'facts'>,
  wanted: Pick<WantedSecret, 'subject' | 'hosts' | 'signing'>,
  now: number,
): boolean {
  return (
    asCommonName(facts.commonName ?? '') === wanted.subject &&
    facts.isAuthority === wanted.signing &&
    namesAll(facts.hosts, wanted.hosts) &&
    now <= facts.notAfter
  );
}

/** Whether one of ours is to be replaced, whoever signed it. That an earlier controller set no mark is no reason. */
export function isMadeAnew(
  { facts, purpose, isWhole }: Standing,
  wanted: WantedSecret,
  revoked: ReadonlySet<string>,
  now: number,
): boolean {
  const isOtherwise = wanted.keepsPurpose ? false : purpose === undefined ? wanted.isPurposeSaid : purpose !== wanted.purpose;
  return (
    !isWhole ||
    !serves({ facts }, wanted, now) ||
    isOtherwise ||
    revoked.has(facts.serial) ||
    // Made while the clock was ahead.
    facts.notBefore > now ||
    renewalDue(facts) <= now
  );
}

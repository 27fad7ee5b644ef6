/** Determines which certificates the Certificates of a namespace ask for, and when one must be issued again (pure). */
import { LOCAL_CA, LOCAL_SERVER, SITE_CA } from '../../api/skupper/cluster-names.ts';
import { parseDuration } from '../../api/skupper/duration.ts';
import type { Certificate, Site } from '../../api/skupper/index.ts';
import { certificatePurposes, isApiPurpose, type CertificatePurpose } from '../../identity/certificate-purpose.ts';
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

export interface DesiredSecret {
  readonly certificate: Certificate;
  readonly name: string;
  readonly resource: ResourceKey;
  /** Secret of the CA; undefined if self-signed. */
  readonly ca: string | undefined;
  readonly subject: string;
  readonly hosts: readonly string[];
  readonly signing: boolean;
  /** Undefined for CAs. */
  readonly purpose: CertificatePurpose | undefined;
  /** Whether the Certificate states its purpose. Then a certificate without a mark is issued again. */
  readonly isPurposeSaid: boolean;
  /** Whether a RouterAccess that is unreadable now may present it. Then its certificate keeps its purpose. */
  readonly keepsPurpose: boolean;
  /** Whether it is a link's certificate that another site presents, and may have renewed over the link. */
  readonly isGivenAway: boolean;
  readonly days: number;
}

/** Key in `settings` of a Certificate: its lifetime, such as `720h`. */
export const LIFETIME = 'lifetime';

const YEAR = 365;
const DAY = 86_400_000;
const LONGEST = 3_650 * DAY;

/** Name of the site's default CA. */
export function defaultIssuerOf(site: Pick<Site, 'spec'> | undefined): string {
  const { defaultIssuer = '' } = site?.spec ?? {};
  return defaultIssuer === '' ? SITE_CA : issuerNamed(defaultIssuer);
}

/** Translates the name that machines use for the site's own CA. */
function issuerNamed(name: string): string {
  return name === 'earshot-site-ca' ? SITE_CA : name;
}

/** CAs first, and self-signed ones before those that another CA signs. */
export function desiredSecrets(
  { resources, unreadable }: Pick<NamespaceView, 'resources' | 'unreadable'>,
  site: Site | undefined,
): readonly DesiredSecret[] {
  const accesses = site === undefined ? [] : listAccesses(resources, site).accesses;
  const shown = new Set(accesses.map(({ bundle }) => bundle));
  const isShownUnknown = unreadable.some(({ kind }) => kind === 'RouterAccess' || kind === 'Site');
  const rank = ({ signing, ca }: DesiredSecret): number => (signing ? (ca === undefined ? 0 : 1) : 2);
  return resources.Certificate.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map((certificate) => ({
      ...desiredSecret(certificate, shown.has(nameOf(certificate)), defaultIssuerOf(site)),
      keepsPurpose: isShownUnknown && certificate.spec.settings?.[PURPOSE] === undefined,
    }))
    .toSorted((one, other) => rank(one) - rank(other));
}

function desiredSecret(certificate: Certificate, isShown: boolean, defaultIssuer: string): Omit<DesiredSecret, 'keepsPurpose'> {
  const { ca, subject, hosts = [], settings, ...uses } = certificate.spec;
  const signing = uses.signing === true;
  const issuer = ca === '' ? undefined : issuerNamed(ca);
  const said = settings?.[PURPOSE];
  const isLink = said === undefined && isLinkByNature(certificate, isShown, issuer === defaultIssuer);
  const purpose = signing ? undefined : isLink || said === 'link' ? 'link' : isApiPurpose(said) ? said : 'application';
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
 * Existing tools request a link's certificate without saying so: their Certificate is for a client only, of the site's own CA, and has no
 * hosts. Certificates that routers present are link certificates too.
 */
function isLinkByNature(certificate: Certificate, isShown: boolean, isOfDefault: boolean): boolean {
  if (isShown) return true;
  if (nameOf(certificate) === LOCAL_SERVER && certificate.spec.ca === LOCAL_CA) return true;
  return isOfDefault && isOfClient(certificate) && (certificate.spec.hosts ?? []).length === 0;
}

const isOfClient = ({ spec }: Certificate): boolean => spec.client === true && spec.server !== true;

/** Lifetime in days; `refuseSettings` reports invalid values. */
function lifetimeOf(text: string | undefined): number {
  const lifetime = text === undefined ? undefined : parseDuration(text);
  return lifetime === undefined ? YEAR : Math.min(lifetime, LONGEST) / DAY;
}

const PURPOSES: ReadonlySet<string> = new Set(certificatePurposes);

/** @throws TrustError `bad-argument` */
export function refuseSettings({ certificate: { spec } }: Pick<DesiredSecret, 'certificate'>): void {
  const { [PURPOSE]: purpose, [LIFETIME]: lifetime } = spec.settings ?? {};
  if (purpose !== undefined && !PURPOSES.has(purpose)) {
    throw new TrustError('bad-argument', `settings.${PURPOSE} is ${quoted(purpose, 100)}, and must be one of ${[...PURPOSES].join(', ')}`);
  }
  if (isApiPurpose(purpose) && (spec.signing === true || spec.ca !== LOCAL_CA)) {
    throw new TrustError(
      'bad-argument',
      `settings.${PURPOSE} is "${purpose}", so spec.ca must be ${LOCAL_CA}, which authenticates clients of routers`,
    );
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

/** Facts about an existing certificate. */
export interface Standing {
  readonly facts: CertificateFacts;
  /** Purpose that its mark states. */
  readonly purpose: CertificatePurpose | undefined;
  /** Whether certificate and key match. */
  readonly isWhole: boolean;
  /** For a CA only; see `authorityKeyOf`. */
  readonly authorityKey?: string;
}

/** Whether subject, hosts, CA flag and validity are as desired. A user's certificate need not satisfy more than this. */
export function serves(
  { facts }: Pick<Standing, 'facts'>,
  desired: Pick<DesiredSecret, 'subject' | 'hosts' | 'signing'>,
  now: number,
): boolean {
  return (
    asCommonName(facts.commonName ?? '') === desired.subject &&
    facts.isAuthority === desired.signing &&
    namesAll(facts.hosts, desired.hosts) &&
    now <= facts.notAfter
  );
}

/**
 * Whether one of our certificates must be replaced, whatever CA signed it. Earlier controllers set no mark, so a missing mark does not
 * count.
 */
export function isReissued(
  { facts, purpose, isWhole }: Standing,
  desired: DesiredSecret,
  revoked: ReadonlySet<string>,
  now: number,
): boolean {
  const isOtherwise = desired.keepsPurpose ? false : purpose === undefined ? desired.isPurposeSaid : purpose !== desired.purpose;
  return (
    !isWhole ||
    !serves({ facts }, desired, now) ||
    isOtherwise ||
    revoked.has(facts.serial) ||
    // Issued while the clock was ahead.
    facts.notBefore > now ||
    renewalDue(facts) <= now
  );
}

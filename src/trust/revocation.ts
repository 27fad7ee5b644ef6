/** Revocation of sites and its consequences (pure). See `Ledger`. */
import { EarshotError } from '../errors/earshot-error.ts';
import type { Revocations } from '../identity/issued.ts';
import { revokedOf, revokedSets, type Party } from '../identity/revocation.ts';
import { TrustError } from './errors.ts';
import type { Basis, Grant, IssuedEntry, RedeemAttempt, RevokedSite } from './stores.ts';
import { isUuid } from '../text/names.ts';
import { didYouMean } from '../text/nearest.ts';
import { printable, quoted } from '../text/printable.ts';
import { sentence } from '../text/sentence.ts';
import { listFirst } from '../text/list-some.ts';

/**
 * Collects all IDs and serial numbers on record for a site name or site ID. A name that several IDs have used revokes all of them: sites
 * choose their own names, and the user wants no site of that name. An ID is revoked even if nothing is on record or readable. A name that
 * is not on record but looks like a serial number is one: certificates of a user's own authority are not on record.
 */
export async function planRevocation(
  given: string,
  issued: AsyncIterable<IssuedEntry> | Iterable<IssuedEntry>,
  before: readonly RevokedSite[],
  now: number,
  network: readonly NetworkSite[] = [],
): Promise<RevokedSite> {
  const site = isUuid(given.toLowerCase()) ? given.toLowerCase() : given;
  const inNetwork = network.filter(({ name }) => name === site).map(({ id }) => id.toLowerCase());
  const found = isUuid(site) ? await findById(site, issued) : await findByName(site, issued, new Set(inNetwork));
  const { name, entries } = found;
  const earlier = before.find((one) => one.name === name || one.siteIds.includes(site));
  if (found.kind === 'name' && entries.length === 0 && inNetwork.length === 0 && earlier === undefined) {
    const serial = serialIn(site);
    if (serial === undefined) throw unknownSite(site, new Set([...network.map((one) => one.name), ...found.others]));
    return { name: serial, at: now, siteIds: [], serials: [serial] };
  }
  const own = isUuid(site) ? [site] : inNetwork;
  return {
    name: earlier?.name ?? name,
    at: now,
    siteIds: distinct([...(earlier?.siteIds ?? []), ...own, ...entries.flatMap(({ siteId }) => (siteId === undefined ? [] : [siteId]))]),
    serials: distinct([...(earlier?.serials ?? []), ...entries.map(({ serial }) => serial)]),
  };
}

type Found =
  | { readonly kind: 'id'; readonly name: string; readonly entries: readonly IssuedEntry[] }
  | { readonly kind: 'name'; readonly name: string; readonly entries: readonly IssuedEntry[]; readonly others: ReadonlySet<string> };

async function findById(id: string, issued: AsyncIterable<IssuedEntry> | Iterable<IssuedEntry>): Promise<Found> {
  const entries: IssuedEntry[] = [];
  try {
    for await (const entry of issued) if (entry.siteId === id) entries.push(entry);
  } catch (error) {
    // Certificates contain the site ID, so they are refused without their serial numbers.
    if (!(error instanceof TrustError)) throw error;
  }
  return { kind: 'id', name: entries.at(-1)?.siteName ?? id, entries };
}

/** Finds a site with that name, or else a Certificate. */
async function findByName(
  given: string,
  issued: AsyncIterable<IssuedEntry> | Iterable<IssuedEntry>,
  ids: ReadonlySet<string>,
): Promise<Found> {
  const found = { [given]: [] as IssuedEntry[], [certificateHolder(given)]: [] as IssuedEntry[] };
  const others = new Set<string>();
  for await (const entry of issued) {
    const isInNetwork = entry.siteId !== undefined && ids.has(entry.siteId.toLowerCase());
    const entries = isInNetwork ? found[given] : Object.hasOwn(found, entry.siteName) ? found[entry.siteName] : undefined;
    if (entries !== undefined) entries.push(entry);
    else if (others.size < MOST_NAMES) others.add(entry.siteName);
  }
  const name = [given, certificateHolder(given)].find((one) => (found[one]?.length ?? 0) > 0 || (one === given && ids.size > 0)) ?? given;
  return { kind: 'name', name, entries: found[name] ?? [], others };
}

/** At least 64 bits, as CAs issue (RFC 5280 allows up to 20 bytes); shorter texts may be names. OpenSSL writes some with colons. */
function serialIn(text: string): string | undefined {
  const digits = text.replaceAll(':', '');
  // Normalize leading zeros, which some programs write, so that one number has one entry.
  return /^[0-9a-f]{16,42}$/i.test(digits) ? digits.toUpperCase().replace(/^0+(?=.)/, '') : undefined;
}

/** Name under which the certificates of a Certificate are on record. Never a valid site name. */
export const certificateHolder = (certificate: string): string => `${CERTIFICATE}${certificate}`;

const CERTIFICATE = 'Certificate/';

/** Whether an entry belongs to a resource's certificate (`Certificate/my-app`, `Site/west`) rather than a link's. */
export const isResource = (siteName: string): boolean => siteName.includes('/');

/** Site in the status of this site. */
export interface NetworkSite {
  readonly id: string;
  readonly name: string;
}

/** Number of names that are collected for an error message. */
const MOST_NAMES = 1_000;

/** @param others names in the network and on record, where a Certificate has a prefix */
function unknownSite(site: string, others: ReadonlySet<string>): EarshotError {
  const names = [...others].map((name) => printable(name, 100)).toSorted();
  const sites = names.filter((name) => !isResource(name));
  const certificates = names.filter((name) => name.startsWith(CERTIFICATE)).map((name) => name.slice(CERTIFICATE.length));
  const known = sites.length === 0 ? 'no site is known yet' : `known sites are ${listFirst(sites, 20)}`;
  const meant = didYouMean(site, [...sites, ...certificates]);
  const message = `site ${quoted(site, 100)} is not in the network, and no certificate was ever issued to it: ${known}${sentence(meant)}`;
  return new EarshotError('unknown-site', message);
}

/** Lists each site once. The latest revocation is last. */
export const withRevoked = (revoked: readonly RevokedSite[], site: RevokedSite): readonly RevokedSite[] => [
  ...revoked.filter(({ name }) => name !== site.name),
  site,
];

/**
 * Removes the entry with this name, and this ID from other entries. Other sites that had its name stay revoked. Serial numbers and IDs may
 * be written as they were for the revocation.
 * @param issued certificates on record, to find those of the ID within another entry
 * @returns the same list if nothing changes
 */
export async function withoutRevoked(
  revoked: readonly RevokedSite[],
  given: string,
  issued: AsyncIterable<IssuedEntry> | Iterable<IssuedEntry>,
): Promise<readonly RevokedSite[]> {
  const site = isUuid(given.toLowerCase()) ? given.toLowerCase() : given;
  const match = [site, certificateHolder(site), serialIn(site)].find((one) => revoked.some(({ name }) => name === one));
  const others = revoked.filter(({ name }) => name !== match);
  if (!others.some(({ siteIds }) => siteIds.includes(site))) return others.length < revoked.length ? others : revoked;
  const own = new Set((await findById(site, issued)).entries.map(({ serial }) => serial));
  return others.flatMap((one) => {
    if (!one.siteIds.includes(site)) return [one];
    const siteIds = one.siteIds.filter((id) => id !== site);
    return siteIds.length === 0 ? [] : [{ ...one, siteIds, serials: one.serials.filter((serial) => !own.has(serial)) }];
  });
}

/** Revocations for a router's config. */
export function revocationsOf(revoked: readonly RevokedSite[]): Revocations {
  return { sites: distinct(revoked.flatMap(({ siteIds }) => siteIds)), serials: distinct(revoked.flatMap(({ serials }) => serials)) };
}

const isRevoked = (party: Party, revoked: readonly RevokedSite[]): boolean =>
  revokedOf(party, revokedSets(revocationsOf(revoked))) !== undefined;

const distinct = (values: readonly string[]): readonly string[] => [...new Set(values)];

/** @throws TrustError `revoked` if the certificate is for a revoked site, or derives from something revoked */
export function refuseEntry({ siteId, siteName }: IssuedEntry, revoked: readonly RevokedSite[], basis?: Basis): void {
  if (basis?.kind === 'renewal') refuseRenewal(basis.serial, siteId, siteName, revoked);
  if (basis?.kind === 'redemption') refuseRedemption(basis.attempt, basis.grant, revoked);
  if (!isRevoked({ site: siteId }, revoked)) return;
  throw new TrustError('revoked', `site ${siteName} (${siteId}) is revoked here: it gets no certificate until the revocation is lifted`);
}

/** See `Ledger.revoke` for the rules. */
export function refuseRedemption(attempt: RedeemAttempt, grant: Grant, revoked: readonly RevokedSite[]): void {
  const sets = revokedSets(revocationsOf(revoked));
  const isOut = (site: string): boolean => revokedOf({ site }, sets) !== undefined;
  if (isOut(attempt.siteId)) {
    throw new TrustError(
      'revoked',
      `site ${attempt.siteName} (${attempt.siteId}) is revoked: it cannot redeem tokens until the revocation is lifted`,
    );
  }
  if (revokedSince(grant, revoked).some(({ name }) => name === attempt.siteName)) {
    throw new TrustError(
      'revoked',
      `a site named ${attempt.siteName} was revoked after grant ${grant.name} was created: ask for a token of a new grant`,
    );
  }
  // If the record was lost, the unknown redeemer may be among the sites revoked since.
  const isUnknownOut = grant.redemptions > grant.redeemedBy.length && revokedSince(grant, revoked).length > 0;
  if (isUnknownOut || grant.redeemedBy.some(({ siteId }) => isOut(siteId))) {
    throw new TrustError(
      'revoked',
      `a site that used grant ${grant.name} was revoked, and may still have the token: ask for a token of a new grant`,
    );
  }
}

/** Mark of the last entry, since the list is in the order of revocation; empty if the list is empty. */
export function lastRevocation(revoked: readonly RevokedSite[]): string {
  const last = revoked.at(-1);
  return last === undefined ? '' : markOf(last);
}

/**
 * Uses the order of the list, since a clock may have been set back. Returns all if the entry before the grant was removed, or was revoked
 * again.
 */
function revokedSince(grant: Grant, revoked: readonly RevokedSite[]): readonly RevokedSite[] {
  if (grant.lastRevocation === undefined) return revoked.filter(({ at }) => at >= grant.created);
  return revoked.slice(revoked.findIndex((one) => markOf(one) === grant.lastRevocation) + 1);
}

const markOf = ({ name, at }: RevokedSite): string => `${new Date(at).toISOString()} ${name}`;

/** Checks the serial number too: a site with a new ID may present a certificate that contains no site ID. @throws TrustError `revoked` */
export function refuseRenewal(serial: string, siteId: string | undefined, name: string, revoked: readonly RevokedSite[]): void {
  if (!isRevoked({ site: siteId, certificate: { serials: [serial], sites: [] } }, revoked)) return;
  throw new TrustError(
    'revoked',
    `site ${name}${siteId === undefined ? '' : ` (${siteId})`} is revoked: its certificate ${serial} is not renewed`,
  );
}

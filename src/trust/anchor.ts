/**
 * Anchor of a site: a record of its other state, in a separate object (the ConfigMap of its routers, or `internal/anchor.json`). It
 * distinguishes a missing or older copy of an object from one that never existed. See docs/adr/0024-missing-is-not-empty.md. Pure.
 */
import { isRecord } from '../text/is-record.ts';
import { parseRevokedSite, revokedText, type RevocationList } from './disk/ledger-files.ts';
import { TrustError } from './errors.ts';
import type { LedgerFinding } from './stores.ts';

export interface Anchor {
  readonly siteId?: string;
  /** Authorities that this site has created, by name. */
  readonly authorities: Readonly<Record<string, AnchoredAuthority>>;
  /** Copy of the list of revoked sites. The list with the higher sequence number is valid. */
  readonly revocations?: Required<RevocationList>;
  /** Newest entry of the ledger's record of certificates. */
  readonly issued?: RecordMark;
  /** Entry whose absence showed that the record is incomplete. */
  readonly lost?: RecordMark;
  /** Milliseconds since 1970 when the list of revoked sites was last restored from this copy. */
  readonly restored?: number;
  /** Marks of redeemed tokens, by name. Used on a machine only. */
  readonly redeemed?: Readonly<Record<string, string>>;
}

export interface AnchoredAuthority {
  /** SHA-256 of the public key, hex. */
  readonly key: string;
  /** UID of its resource. A re-created resource with the same name has another authority. */
  readonly uid?: string;
}

export interface RecordMark {
  readonly serial: string;
  /** Milliseconds since 1970 when this certificate expires. Its line may be removed after that. */
  readonly notAfter: number;
  /** Milliseconds since 1970 when every certificate recorded so far has expired. */
  readonly until: number;
}

export const noAnchor: Anchor = { authorities: {} };

/** Storage of the anchor. */
export interface AnchorStore {
  /** Returns `noAnchor` if the anchor is missing or unparsable. It is then derived again from the rest of the state. */
  get(): Promise<Anchor>;
  /** Applies a change. Changes run one after another. */
  change(plan: (anchor: Anchor) => Anchor): Promise<void>;
  /** Location for messages: a user deletes it to continue without the missing state. */
  readonly location: string;
}

/** Error for missing state of a site. */
export const missing = (what: string, location: string): TrustError =>
  new TrustError('state-missing', `${what} Restore it from a backup; or delete ${location}, to continue without it`);

export interface CurrentRevocations {
  readonly list: Required<RevocationList>;
  /** The stored list is missing or older, and has to be written again. */
  readonly isRestored: boolean;
}

/**
 * Returns the valid list. If the copy has a higher number, or the stored list has no number, every site in either list stays revoked. The
 * copy is in a ConfigMap, so it must not lift a revocation.
 */
export function currentRevocations(stored: RevocationList | undefined, { revocations: copy }: Anchor): CurrentRevocations {
  const { sequence, revoked } = stored ?? { revoked: [] };
  if (copy === undefined || (sequence !== undefined && sequence >= copy.sequence)) {
    return { list: { sequence: sequence ?? 0, revoked }, isRestored: false };
  }
  if (stored === undefined) return { list: copy, isRestored: copy.revoked.length > 0 };
  const textOf = (one: RevocationList['revoked'][number]): string => JSON.stringify(revokedText(one));
  const known = new Set(revoked.map(textOf));
  const added = copy.revoked.filter((one) => !known.has(textOf(one)));
  return { list: { sequence: copy.sequence, revoked: [...added, ...revoked] }, isRestored: added.length > 0 || sequence !== undefined };
}

/** @param isOnRecord whether a serial number is on record */
export function withRecordSeen(anchor: Anchor, isOnRecord: (serial: string) => boolean, now: number): Anchor {
  const { lost: before, ...others } = anchor;
  const { issued } = anchor;
  if (issued !== undefined && issued.notAfter > now && !isOnRecord(issued.serial)) return { ...others, lost: before ?? issued };
  return before === undefined || before.until <= now || isOnRecord(before.serial) ? others : anchor;
}

export function withIssued(anchor: Anchor, { serial, notAfter }: { readonly serial: string; readonly notAfter: number }): Anchor {
  return { ...anchor, issued: { serial, notAfter, until: Math.max(notAfter, anchor.issued?.until ?? 0) } };
}

const DAY = 86_400_000;

/** Findings for the status of a Site: a lost record, and, for one day, a restored list of revoked sites. */
export function ledgerFindings(
  { lost, restored }: Anchor,
  { location, anchor, now }: { readonly location: string; readonly anchor: string; readonly now: number },
): readonly LedgerFinding[] {
  const findings: LedgerFinding[] = [];
  if (lost !== undefined) {
    const what = `${location} was deleted, or is an older copy: certificates that were issued before are not on record, so their sites are revoked by id only. Revoked sites stay revoked.`;
    findings.push({ severity: 'error', code: 'state-missing', message: missing(what, anchor).message });
  }
  if (restored !== undefined && now - restored < DAY) {
    const cause = `${location} was deleted, is an older copy, or was changed by hand or by an earlier version`;
    const remedy = 'To permit a site again, use `earshot site unrevoke SITE` of this version';
    const message = `the list of revoked sites was restored at ${new Date(restored).toISOString()}: ${cause}. ${remedy}`;
    findings.push({ severity: 'warning', code: 'state-missing', message });
  }
  return findings;
}

/** @throws TrustError `state-missing` if the site's ID has changed */
export function checkSiteId({ siteId }: Anchor, id: string | undefined, where: string, location: string): void {
  if (siteId === undefined || siteId === id) return;
  const found = id === undefined ? `${where} is missing, which is the key of this site` : `${where} has the key of another site (${id})`;
  throw missing(`${found}: this site is ${siteId}, and its links expect that site.`, location);
}

/** @throws TrustError `state-missing` if the authority is missing or was replaced */
export function checkAuthority(anchor: Anchor, name: string, found: Partial<AnchoredAuthority>, where: string, location: string): void {
  const known = Object.hasOwn(anchor.authorities, name) ? anchor.authorities[name] : undefined;
  if (known === undefined || known.uid !== found.uid || known.key === found.key) return;
  const what = found.key === undefined ? 'is missing' : 'has changed';
  throw missing(`the certificate authority in ${where} ${what}: its certificates stay valid, and no certificate is signed.`, location);
}

/** Returns one line of JSON. */
export function formatAnchor({ revocations, ...others }: Anchor): string {
  const list = revocations === undefined ? {} : { revocations: { ...revocations, revoked: revocations.revoked.map(revokedText) } };
  return JSON.stringify({ version: 1, ...others, ...list });
}

/** @returns `noAnchor` if the text was not written by `formatAnchor` */
export function parseAnchor(text: string | undefined): Anchor {
  try {
    const value: unknown = JSON.parse(text ?? '');
    if (!isRecord(value) || value['version'] !== 1) return noAnchor;
    const { siteId, authorities, revocations, issued, lost, restored, redeemed } = value;
    return {
      ...(typeof siteId === 'string' ? { siteId } : {}),
      authorities: isRecord(authorities) ? Object.fromEntries(Object.entries(authorities).filter(isAuthority)) : {},
      ...(revocations === undefined ? {} : { revocations: listIn(revocations) }),
      ...(isMark(issued) ? { issued } : {}),
      ...(isMark(lost) ? { lost } : {}),
      ...(typeof restored === 'number' ? { restored } : {}),
      ...(isRecord(redeemed) ? { redeemed: textsIn(redeemed) } : {}),
    };
  } catch {
    return noAnchor;
  }
}

/** Returns the entries of an object whose values are strings. */
export function textsIn(value: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}

function listIn(value: unknown): Required<RevocationList> {
  const { sequence, revoked } = isRecord(value) ? value : {};
  if (typeof sequence !== 'number' || !Array.isArray(revoked)) throw new Error('it is not a list of revoked sites');
  return { sequence, revoked: revoked.map(parseRevokedSite) };
}

function isAuthority(entry: [string, unknown]): entry is [string, AnchoredAuthority] {
  const [, value] = entry;
  return isRecord(value) && typeof value['key'] === 'string' && (value['uid'] === undefined || typeof value['uid'] === 'string');
}

function isMark(value: unknown): value is RecordMark {
  return (
    isRecord(value) && typeof value['serial'] === 'string' && typeof value['notAfter'] === 'number' && typeof value['until'] === 'number'
  );
}

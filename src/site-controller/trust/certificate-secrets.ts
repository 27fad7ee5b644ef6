import { createPrivateKey, type X509Certificate } from 'node:crypto';
import { annotation, LOCAL_CA } from '../../api/skupper/cluster-names.ts';
import type { Certificate } from '../../api/skupper/index.ts';
import { problemOf, type Problem } from '../../errors/problem.ts';
import { isApiPurpose, purposeOf, type CertificatePurpose } from '../../identity/certificate-purpose.ts';
import { sameBundle, type TlsBundle } from '../../identity/tls-bundle.ts';
import type { Secret } from '../../kube/objects.ts';
import type { CertificateState } from '../../site/observe/trust-facts.ts';
import { checkAuthority, noAnchor, type Anchor, type AnchoredAuthority } from '../../trust/anchor.ts';
import { authorityKeyOf } from '../../trust/authority.ts';
import type { Authority, Clock } from '../../trust/contract.ts';
import { TrustError } from '../../trust/errors.ts';
import { issueBundle } from '../../trust/issue.ts';
import { renewalDue } from '../../trust/renewal.ts';
import type { Ledger } from '../../trust/stores.ts';
import { CertificateError } from '../../x509/errors.ts';
import { readCertificates } from '../../x509/facts.ts';
import { RepairLimiter } from '../../work/repair-limiter.ts';
import { ownerOf } from '../namespace-view.ts';
import { Issuers, makeRoot, renewedRoot } from './issuers.ts';
import { ANCHOR_LOCATION } from './router-anchor.ts';
import { isOurs, refuseRecord, SiteSecretBundles, type BundleMarks } from './site-secret-bundles.ts';
import { isOwned, type SiteSecrets } from './site-secrets.ts';
import { isReissued, refuseSettings, serves, type Standing, type DesiredSecret } from './desired-secrets.ts';

export interface SecretState {
  /** Undefined while unknown. */
  readonly state: CertificateState | undefined;
  /** Time at which it must be issued again. */
  readonly due?: number;
  readonly isWritten?: true;
  /** Error that a retry may resolve. */
  readonly failed?: unknown;
}

/** Issues and renews the Secrets of Certificates. Each certificate is on record before its Secret exists. */
export class CertificateSecrets {
  readonly #secrets: SiteSecrets;
  readonly #bundles: SiteSecretBundles;
  readonly #issuers: Issuers;
  readonly #ledger: Ledger;
  readonly #clock: Clock;
  /** Parsed certificate of each bundle: every change in the namespace triggers a reconcile. */
  readonly #read = new WeakMap<TlsBundle, Standing | CertificateError>();
  /** Whether the named CA signed the bundle. */
  readonly #signed = new WeakMap<TlsBundle, { readonly authority: Authority; readonly isSigned: boolean }>();
  /** Certificates whose Secrets are being written, by name. */
  readonly #certificates = new Map<string, Certificate>();
  /**
   * Certificate issued last, by the UID of its resource. If it could not be written, or was overwritten, the same certificate is written
   * again and nothing new is recorded.
   */
  readonly #issued = new Map<string, { readonly authority: Authority; readonly bundle: TlsBundle; isWritten: boolean }>();
  readonly #repairs = new RepairLimiter();

  readonly #anchor: () => Anchor;
  /** Self-signed CAs that exist, by name. */
  readonly #authorities = new Map<string, AnchoredAuthority>();

  constructor(secrets: SiteSecrets, ledger: Ledger, clock: Clock, anchor: () => Anchor = () => noAnchor) {
    this.#secrets = secrets;
    this.#ledger = ledger;
    this.#clock = clock;
    this.#anchor = anchor;
    this.#bundles = new SiteSecretBundles(secrets, (name) => marksOf(this.#certificates.get(name)));
    this.#issuers = new Issuers(this.#bundles, clock, ({ name, certificate }) => {
      const known = this.#authorities.get(name) ?? this.#anchor().authorities[name];
      if (known !== undefined) this.#checkAuthority(name, { ...known, key: authorityKeyOf(certificate) });
    });
  }

  /** CAs that the anchor must contain: those that exist, and those that are missing but still desired. */
  authorities(desired: (name: string) => boolean): Anchor['authorities'] {
    const all = [...Object.entries(this.#anchor().authorities), ...this.#authorities];
    return Object.fromEntries(all.filter(([name]) => desired(name)));
  }

  get issuers(): Issuers {
    return this.#issuers;
  }

  /** Brings the Secret of one Certificate up to date. */
  async ensure(desired: DesiredSecret, revoked: ReadonlySet<string>): Promise<SecretState> {
    try {
      refuseSettings(desired);
      // Checked before anything is recorded for it.
      refuseRecord(desired.name);
      const secret = this.#secrets.find(desired.name);
      if (secret !== undefined && isOfAnother(secret, desired.certificate)) return { state: undefined };
      const bundle = await this.#bundles.get(desired.name);
      if (secret !== undefined && !isOurs(secret)) return { state: this.#stateOfForeign(bundle, desired) };
      // A Secret restored from a backup gets its owner back, so that it is deleted with its Certificate.
      if (secret !== undefined && bundle !== undefined && !isOwned(secret)) await this.#put(bundle, bundle, desired);
      return await this.#ensureOwn(bundle, desired, revoked);
    } catch (error) {
      const state = { problem: problemOf(error) };
      return error instanceof TrustError || error instanceof CertificateError ? { state } : { state, failed: error };
    }
  }

  /** Forgets what was issued for Certificates that are no longer desired. */
  keepOnly(desired: readonly DesiredSecret[]): void {
    const uids = new Set(desired.map(({ certificate }) => certificate.metadata.uid));
    for (const uid of this.#issued.keys()) if (!uids.has(uid)) this.#issued.delete(uid);
  }

  /** Serial number of the existing certificate. */
  async serialOf(name: string): Promise<string | undefined> {
    const standing = this.#standingOf(await this.#bundles.get(name));
    return standing === undefined || standing instanceof CertificateError ? undefined : standing.facts.serial;
  }

  async #ensureOwn(bundle: TlsBundle | undefined, desired: DesiredSecret, revoked: ReadonlySet<string>): Promise<SecretState> {
    const now = this.#clock();
    const standing = this.#standingOf(bundle);
    if (desired.signing && desired.ca === undefined) return this.#ensureRoot(bundle, standing, desired, now);
    const isRead = standing !== undefined && !(standing instanceof CertificateError);
    if (isRead && !isReissued(standing, desired, revoked, now) && !(await this.#hasOtherAuthority(bundle, desired)))
      return stateOf(standing);
    if (isRead && !desired.keepsPurpose && takesBack(standing.purpose, desired.purpose)) await this.#refuse(desired, standing, revoked);
    return this.#issue(
      bundle,
      desired.keepsPurpose && isRead ? { ...desired, purpose: standing.purpose ?? desired.purpose } : desired,
      revoked,
    );
  }

  /** A CA is never replaced by another one: everything that it signed depends on it. A renewal keeps its name and key. */
  async #ensureRoot(
    bundle: TlsBundle | undefined,
    standing: Standing | CertificateError | undefined,
    desired: DesiredSecret,
    now: number,
  ): Promise<SecretState> {
    if (standing instanceof CertificateError) throw this.#damaged(desired, standing.message);
    const { uid = '' } = desired.certificate.metadata;
    const key = standing?.authorityKey;
    if (bundle === undefined || standing !== undefined) this.#checkAuthority(desired.name, { uid, ...(key === undefined ? {} : { key }) });
    if (standing?.facts.isAuthority === false || bundle === undefined) {
      const state = await this.#put(bundle, makeRoot(desired.name, desired.subject, desired.days, now), desired);
      this.#stands(desired.name, uid, this.#standingOf(await this.#bundles.get(desired.name)));
      return state;
    }
    this.#stands(desired.name, uid, standing);
    if (standing?.isWhole === false) throw this.#damaged(desired, 'its certificate and its key do not match');
    if (standing === undefined) throw this.#damaged(desired, 'tls.crt or tls.key is missing');
    if (renewalDue(standing.facts) > now) return stateOf(standing);
    return this.#put(bundle, renewedRoot(bundle, desired.days, now), desired);
  }

  /** The local CA is not anchored: no other site depends on it, so it can simply be created again. */
  #stands(name: string, uid: string, standing: Standing | CertificateError | undefined): void {
    if (name === LOCAL_CA || standing === undefined || standing instanceof CertificateError || standing.authorityKey === undefined) return;
    this.#authorities.set(name, { key: standing.authorityKey, uid });
  }

  /** Peers that are admitted from now on trust the current CA only. While it is missing, issued certificates stay. */
  async #hasOtherAuthority(bundle: TlsBundle | undefined, { ca = '', name }: DesiredSecret): Promise<boolean> {
    const authority = await this.#issuers.find(ca).catch((error: unknown) => {
      if (error instanceof TrustError) return undefined;
      throw error;
    });
    if (authority === undefined || bundle === undefined) return false;
    const known = this.#signed.get(bundle);
    if (known?.authority === authority) return !known.isSigned;
    const [{ x509 }] = readCertificates(bundle.cert ?? '', name);
    // Checks the key alone, because it signs the next certificate. Other faults of the CA certificate do not matter here.
    const isSigned = x509.verify(authority.certificate.publicKey);
    this.#signed.set(bundle, { authority, isSigned });
    return !isSigned;
  }

  async #issue(before: TlsBundle | undefined, desired: DesiredSecret, revoked: ReadonlySet<string>): Promise<SecretState> {
    const { uid = '' } = desired.certificate.metadata;
    const authority = await this.#issuers.find(desired.ca ?? '');
    const last = this.#issued.get(uid);
    // Deleting the Secret requests a new certificate; overwriting it does not.
    const isOverwritten = last?.isWritten === true && before !== undefined && !sameBundle(before, last.bundle);
    const mayStand = last?.authority === authority && (isOverwritten || last.isWritten === false);
    const standing = mayStand ? this.#standingOf(last.bundle) : undefined;
    const isGood =
      standing !== undefined && !(standing instanceof CertificateError) && !isReissued(standing, desired, revoked, this.#clock());
    const repair = { key: desired.name, desired: uid, isOverwritten };
    const wait = isOverwritten && isGood ? this.#repairs.delay(repair, performance.now()) : 0;
    if (wait > 0) return { state: { problem: this.#contested(desired) }, due: this.#clock() + wait };
    const bundle = isGood && last !== undefined ? last.bundle : await this.#recorded(authority, desired);
    const issued = { authority, bundle, isWritten: false };
    this.#issued.set(uid, issued);
    const state = await this.#put(before, bundle, desired);
    issued.isWritten = true;
    if (isOverwritten && isGood) this.#repairs.wrote(repair, performance.now());
    return state;
  }

  #contested({ name }: DesiredSecret): Problem {
    const message = `${this.#secrets.locationOf(name)} is reverted by another writer after each repair, so it is repaired less and less often: find that writer`;
    return { code: 'object-contested', message };
  }

  async #recorded(authority: Authority, { name, resource, subject, hosts, signing, purpose, days }: DesiredSecret): Promise<TlsBundle> {
    const uses = signing ? { signing } : { client: true, server: true, ...(purpose === undefined ? {} : { purpose }) };
    const { serial, ...bundle } = issueBundle(authority, name, { subject, hosts, days, ...uses }, this.#clock);
    const { notAfter } = readCertificates(bundle.cert, name)[0].facts;
    await this.#ledger.record({ siteName: resource, serial, notAfter });
    return bundle;
  }

  async #put(before: TlsBundle | undefined, bundle: TlsBundle, { name, certificate }: DesiredSecret): Promise<SecretState> {
    this.#certificates.set(name, certificate);
    await this.#bundles.replace(before, bundle);
    this.#certificates.delete(name);
    const standing = this.#standingOf(await this.#bundles.get(name));
    if (standing === undefined || standing instanceof CertificateError) return { state: undefined, isWritten: true };
    return { ...stateOf(standing), isWritten: true };
  }

  /** Revokes a certificate whose successor has another purpose. */
  async #refuse({ resource }: DesiredSecret, { facts: { serial, notAfter } }: Standing, revoked: ReadonlySet<string>): Promise<void> {
    if (revoked.has(serial)) return;
    await this.#ledger.record({ siteName: resource, serial, notAfter });
    await this.#ledger.revoke(resource);
  }

  #stateOfForeign(bundle: TlsBundle | undefined, desired: DesiredSecret): CertificateState {
    const standing = this.#standingOf(bundle);
    const isRead = standing !== undefined && !(standing instanceof CertificateError);
    const expires = isRead ? { expires: standing.facts.notAfter } : {};
    if (isRead && serves(standing, desired, this.#clock())) return expires;
    const message =
      `secret exists but is not controlled by skupper: ${this.#secrets.locationOf(desired.name)} is used unchanged, although its certificate ` +
      'has other names or another subject than requested, or has expired. Replace the certificate, or delete the Secret';
    return { ...expires, problem: { code: 'name-taken', message } };
  }

  /** @returns undefined if there is no certificate, and the error if it cannot be parsed */
  #standingOf(bundle: TlsBundle | undefined): Standing | CertificateError | undefined {
    if (bundle?.cert === undefined || bundle.key === undefined) return undefined;
    const { name, cert, key } = bundle;
    return this.#read.getOrInsertComputed(bundle, () => {
      try {
        const [{ facts, x509 }] = readCertificates(cert, `${this.#secrets.locationOf(name)}: tls.crt`);
        const authority = facts.isAuthority ? { authorityKey: authorityKeyOf(x509) } : {};
        return { facts, purpose: purposeOf(x509), isWhole: isKeyOf(x509, key), ...authority };
      } catch (error) {
        if (error instanceof CertificateError) return error;
        throw error;
      }
    });
  }

  #checkAuthority(name: string, found: Partial<AnchoredAuthority>): void {
    checkAuthority(this.#anchor(), name, found, this.#secrets.locationOf(name), ANCHOR_LOCATION);
  }

  #damaged({ name }: DesiredSecret, what: string): TrustError {
    return new TrustError(
      'state-damaged',
      `the certificate authority in ${this.#secrets.locationOf(name)} is damaged: ${what}. Restore it from a backup; or delete ` +
        `${name === LOCAL_CA ? 'the Secret' : `the Secret and ${ANCHOR_LOCATION}`}: then a new authority is created, and all certificates are issued again`,
    );
  }
}

function isKeyOf(certificate: X509Certificate, pem: string): boolean {
  try {
    return certificate.checkPrivateKey(createPrivateKey(pem));
  } catch {
    // The key cannot be parsed.
    return false;
  }
}

function stateOf({ facts }: Standing): SecretState {
  return { state: { expires: facts.notAfter }, due: renewalDue(facts) };
}

/** Whether the Secret belongs to a former Certificate of this name, with which it is deleted a moment later. */
function isOfAnother({ metadata }: Secret, certificate: Certificate): boolean {
  const owners = metadata.ownerReferences?.filter(({ kind }) => kind === 'Certificate') ?? [];
  return owners.length > 0 && owners.every(({ uid }) => uid !== certificate.metadata.uid);
}

function marksOf(certificate: Certificate | undefined): BundleMarks {
  if (certificate === undefined) return {};
  return {
    annotations: { [annotation.certificate]: 'true', [annotation.hosts]: (certificate.spec.hosts ?? []).join(',') },
    ownerReferences: [ownerOf(certificate)],
  };
}

/**
 * Whether the former certificate may permit what the next one must not. A link's certificate may have no mark, and neither may a server's.
 */
function takesBack(before: CertificatePurpose | undefined, now: CertificatePurpose | undefined): boolean {
  return now !== undefined && before !== now && (now !== 'link' || isApiPurpose(before));
}

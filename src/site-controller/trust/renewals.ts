import { X509Certificate } from 'node:crypto';
import { RENEWALS } from '../../api/skupper/cluster-names.ts';
import { readSettings } from '../../agent/settings.ts';
import type { Site } from '../../api/skupper/index.ts';
import type { IssuedCertificate } from '../../identity/issued.ts';
import type { KubeClient } from '../../kube/contract.ts';
import { isNotFound } from '../../kube/errors.ts';
import { configMaps } from '../../kube/resource.ts';
import { SETTING, settingOf } from '../../site/settings.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { Clock } from '../../trust/contract.ts';
import { TrustError } from '../../trust/errors.ts';
import { RenewalPace } from '../../trust/renewal-pace.ts';
import { checkLinkOf, notALinks, renewFor } from '../../trust/renewal.ts';
import { isResource } from '../../trust/revocation.ts';
import type { IssuedEntry, Ledger } from '../../trust/stores.ts';
import type { TimeSlices } from '../../limits/loop/time-slices.ts';
import type { SiteCaches } from '../caches.ts';
import type { NamespaceView } from '../namespace-view.ts';
import type { CertificateSecrets } from './certificate-secrets.ts';
import { answerKey, answerOf, readRequests, refusalOf, withAnswers, type AskedRenewal, type OpenRequest } from './renewal-requests.ts';
import { defaultIssuerOf, type DesiredSecret } from './desired-secrets.ts';

export interface RenewalHandlerOptions {
  readonly client: KubeClient;
  readonly caches: SiteCaches;
  readonly ledger: Ledger;
  readonly certificates: CertificateSecrets;
  readonly log: Logger;
  readonly clock: Clock;
}

/** Maximum number of requests that one reconcile answers. */
const MOST_ANSWERED = 8;

/** Inputs for all answers of one reconcile. */
interface Answering {
  readonly site: Site;
  readonly desired: readonly DesiredSecret[];
  readonly view: NamespaceView;
  readonly onRecord: ReadonlyMap<string, IssuedEntry>;
  readonly slices: TimeSlices;
}

/**
 * Renews link certificates for other sites when the site's routers request it. A router names its peer, but only the record decides whether
 * that peer gets a certificate. So a compromised router cannot obtain one for a name that has none on record.
 */
export class RenewalHandler {
  readonly #options: RenewalHandlerOptions;
  readonly #pace = new RenewalPace();

  constructor(options: RenewalHandlerOptions) {
    this.#options = options;
  }

  async step(view: NamespaceView, site: Site, desired: readonly DesiredSecret[], slices: TimeSlices): Promise<void> {
    const { client, caches, clock, log } = this.#options;
    const { namespace } = view;
    const object = view.find(configMaps, RENEWALS);
    if (object?.data === undefined) return;
    const { open, stale } = readRequests(object.data, clock());
    if (open.length === 0) return;
    const refusals: unknown[] = [];
    const onRecord = await this.#readRecord(slices);
    // An answer changes the ConfigMap, which triggers the next reconcile. That one answers the remaining requests.
    const answers: Record<string, string> = {};
    for (const asked of open.slice(0, MOST_ANSWERED)) {
      await slices.next();
      answers[answerKey(asked.id)] = await this.#answer(asked, { site, desired, view, onRecord, slices }, refusals);
    }
    if (refusals.length > 0) {
      // One log line, regardless of the number of requests.
      const facts = { namespace, refused: refusals.length, error: refusals[0] };
      log.warn(facts, 'certificates of links are not renewed for other sites');
    }
    try {
      const patch = { metadata: { uid: object.metadata.uid }, data: withAnswers(object.data, stale, answers) };
      caches.view(configMaps).wrote(await client.patch(configMaps, { namespace, name: RENEWALS }, patch, { type: 'merge' }));
    } catch (error) {
      // The ConfigMap is gone, and no router waits for an answer.
      if (!isNotFound(error)) throw error;
    }
  }

  /** Entries by serial number, read once for all requests of a reconcile. */
  async #readRecord(slices: TimeSlices): Promise<ReadonlyMap<string, IssuedEntry>> {
    const entries = new Map<string, IssuedEntry>();
    for await (const entry of this.#options.ledger.issued()) {
      if (!entries.has(entry.serial)) entries.set(entry.serial, entry);
      await slices.next();
    }
    return entries;
  }

  /** Refuses mistaken and malicious requests without affecting other answers. */
  async #answer(asked: OpenRequest, about: Answering, refusals: unknown[]): Promise<string> {
    const { clock, log } = this.#options;
    try {
      if ('malformed' in asked) throw new TrustError('request-malformed', `the request is malformed: ${asked.malformed}`);
      const issued = await this.#renew(asked, about);
      log.info({ namespace: about.view.namespace, site: asked.siteId }, 'certificate of a link renewed for another site');
      return answerOf(issued, clock());
    } catch (error) {
      refusals.push(error);
      return refusalOf(error, clock());
    }
  }

  async #renew({ certificate, siteId, request }: AskedRenewal, about: Answering): Promise<IssuedCertificate> {
    const { ledger, certificates, clock } = this.#options;
    const shown = readShown(certificate);
    const authority = await certificates.issuers.signerOf(shown, issuersOf(about.view, about.site), () => about.slices.next());
    const holder = await this.#holderOf(shown, siteId, about);
    const { certificateDays: days } = readSettings(about.site);
    return renewFor(authority, { certificate, siteId }, request, {
      ledger,
      pace: this.#pace,
      clock,
      isLink: true,
      ...(holder === undefined ? {} : { holder }),
      ...(days === undefined ? {} : { days }),
    });
  }

  /**
   * @returns the holder under which the successor is recorded; undefined for the other site itself
   * @throws TrustError if it is not a link's certificate that is known here
   */
  async #holderOf(shown: X509Certificate, siteId: string, { site, desired, onRecord, slices }: Answering): Promise<string | undefined> {
    const { certificates } = this.#options;
    const serial = shown.serialNumber;
    const entry = onRecord.get(serial);
    if (entry !== undefined) {
      if (!isResource(entry.siteName)) {
        checkLinkOf(shown, siteId, entry, false);
        return undefined;
      }
      // Deleting the Certificate then revokes its successors too.
      if (desired.some(({ resource, isGivenAway }) => resource === entry.siteName && isGivenAway)) return entry.siteName;
      throw notALinks(shown, `${entry.siteName} is not a link, or no longer exists`);
    }
    // Issued before the migration to this controller, when nothing was recorded.
    for (const { name, resource, isGivenAway } of desired) {
      await slices.next();
      if ((await certificates.serialOf(name)) !== serial) continue;
      if (isGivenAway) return resource;
      throw notALinks(shown, `it belongs to ${resource}`);
    }
    checkLinkOf(shown, siteId, undefined, settingOf(site, SETTING.unmarked) !== 'refuse');
    return undefined;
  }
}

function readShown(der: Buffer): X509Certificate {
  try {
    return new X509Certificate(der);
  } catch (error) {
    throw new TrustError('request-malformed', 'the certificate to renew cannot be parsed', error);
  }
}

/** Names of the CAs that sign certificates of links. */
function issuersOf({ resources }: NamespaceView, site: Site): ReadonlySet<string> {
  const named = [...resources.RouterAccess, ...resources.AccessGrant].map(({ spec }) => spec.issuer ?? '');
  return new Set([defaultIssuerOf(site), ...named.filter((name) => name !== '')]);
}

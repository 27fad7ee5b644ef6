/** Renews the certificates of links over the links themselves, long before they end. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { certificateFacts, openPendingKeys, requestRenewal, writeBundle } from '../../pki/index.ts';
import type { LinkConfig, Router } from '../../router/contract.ts';
import { messageOf, type Logger } from '../../telemetry/log.ts';
import { isRenewalDue } from './due.ts';
import type { NamespaceLayout } from './layout.ts';

export interface Renewals {
  /** Starts what is due and not tried lately. Of a certificate that was just renewed at least half the time is used. @param ours whether Earshot may replace the bundle of that name */
  check(links: readonly LinkConfig[], router: Router, ours: (bundle: string) => boolean, now: number): void;
}

/** Milliseconds between two tries for one link. */
const pauses = { first: 5_000, longest: 3_600_000 };

export function createRenewals(layout: NamespaceLayout, log: Logger, onRenewed: () => void): Renewals {
  const pending = openPendingKeys(join(layout.internal.root, 'pending'));
  const tries = new Map<string, { readonly next: number; readonly failures: number }>();
  const running = new Set<string>();

  async function renew(link: LinkConfig, router: Router): Promise<number> {
    const { tls } = link;
    const { csr, key } = await requestRenewal(tls, pending);
    const { cert, ca } = await router.renew(link.name, csr);
    // What is not a certificate for that key must not replace one that works.
    const leaf = new X509Certificate(cert);
    if (!leaf.checkPrivateKey(createPrivateKey(key))) throw new Error('the certificate that came is for another key');
    await writeBundle(join(layout.internal.certs, tls.name), { name: tls.name, cert, key, ca });
    await pending.drop(tls.name);
    log.info({ link: link.name, until: leaf.validTo }, 'certificate of the link renewed');
    return Date.parse(leaf.validTo);
  }

  return {
    check: (links, router, ours, now) => {
      for (const link of links) {
        const { tls, name } = link;
        if (tls.cert === undefined || !ours(tls.name) || running.has(name)) continue;
        if (router.state.links[name]?.operational !== true) continue;
        const before = tries.get(name);
        if (before !== undefined && before.next > now) continue;
        if (!isDue(tls.cert, now)) continue;
        running.add(name);
        renew(link, router)
          .then((until) => {
            // A short-lived certificate is due as soon as it is there, since its life is counted from before its issue.
            tries.set(name, { next: now + Math.max(1000, (until - now) / 2), failures: 0 });
            onRenewed();
          })
          .catch((error: unknown) => {
            const failures = (before?.failures ?? 0) + 1;
            const wait = Math.min(pauses.longest, pauses.first * 2 ** Math.min(failures - 1, 12));
            tries.set(name, { next: now + wait, failures });
            log.warn({ link: name, error }, `the certificate of the link could not be renewed, next try in ${Math.round(wait / 1000)} s: ${messageOf(error)}`);
          })
          .finally(() => running.delete(name));
      }
    },
  };
}

function isDue(cert: string, now: number): boolean {
  try {
    return isRenewalDue(certificateFacts(cert, 'the link\'s tls.crt'), now);
  } catch {
    // Mangled: the plan says so.
    return false;
  }
}

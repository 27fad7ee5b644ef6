/** Renews the certificates of links over the links themselves, long before they end. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { certificateFacts } from '../x509/facts.ts';
import { DirectoryPendingKeys } from '../trust/disk/pending-keys.ts';
import { requestRenewal } from '../trust/renewal.ts';
import { writeBundle } from '../trust/disk/bundle-files.ts';
import type { LinkConfig, Router } from '../router/contract.ts';
import { messageOf, type Logger } from '../telemetry/log.ts';
import { backoffDelay, type Backoff } from '../work/backoff.ts';
import { isRenewalDue } from './due.ts';
import type { NamespaceLayout } from '../platform/linux/layout.ts';
import { openRenewalRequests, type RenewalAnswer } from '../platform/linux/renewal-requests.ts';

/** As much of a router as renews. */
export type RenewingRouter = Pick<Router, 'state' | 'renew'>;

export interface Renewals {
  /**
   * Starts what is due and not tried lately, and what was asked for. Of a certificate that was just renewed at least half the time is used.
   * @param ours whether Earshot may replace the bundle of that name
   * @returns the links whose renewal was started
   */
  check(links: readonly LinkConfig[], router: RenewingRouter, ours: (bundle: string) => boolean, now: number): Promise<readonly string[]>;
}

/** Milliseconds between two tries for one link. */
const RETRY: Backoff = { first: 5_000, max: 3_600_000 };
const SHORTEST_PAUSE = 500;

/** Looks come every few seconds. What is due before the next one, with a certificate of seconds, is looked at again so soon. */
const soon = { within: 6_000, again: 500 };

export function createRenewals(layout: NamespaceLayout, log: Logger, onRenewed: () => void): Renewals {
  const pending = new DirectoryPendingKeys(join(layout.internal.root, 'pending'));
  const tries = new Map<string, { readonly next: number; readonly failures: number }>();
  const running = new Set<string>();
  const requests = openRenewalRequests(layout);
  let nextLook: ReturnType<typeof setTimeout> | undefined;

  function lookSoon(): void {
    nextLook ??= setTimeout(() => {
      nextLook = undefined;
      onRenewed();
    }, soon.again);
    nextLook.unref();
  }

  async function renew(link: LinkConfig, router: RenewingRouter): Promise<Renewed> {
    const { tls } = link;
    const { csr, key } = await requestRenewal(tls, pending);
    const { cert, ca } = await router.renew(link.name, csr);
    // What is not a certificate for that key must not replace one that works.
    const leaf = new X509Certificate(cert);
    if (!leaf.checkPrivateKey(createPrivateKey(key))) throw new Error('the certificate that came is for another key');
    await writeBundle(join(layout.internal.certs, tls.name), { name: tls.name, cert, key, ca });
    await pending.drop(tls.name);
    log.info({ link: link.name, until: leaf.validTo }, 'certificate of the link renewed');
    const before = new X509Certificate(tls.cert ?? '').serialNumber;
    return { serial: leaf.serialNumber, before, until: Date.parse(leaf.validTo) };
  }

  function start(link: LinkConfig, router: RenewingRouter, isAsked: boolean, now: number): void {
    const { name } = link;
    const answer = async (given: RenewalAnswer): Promise<void> => {
      if (isAsked) await requests.answer(linkOf(link), given);
    };
    running.add(name);
    renew(link, router)
      .then(async ({ serial, before, until }) => {
        // A short-lived certificate is due as soon as it is there, since its life is counted from before its issue.
        tries.set(name, { next: now + Math.max(1000, (until - now) / 2), failures: 0 });
        await answer({ serial, before, until: new Date(until).toISOString() });
      })
      .catch(async (error: unknown) => {
        const failures = (tries.get(name)?.failures ?? 0) + 1;
        const left = endOf(link.tls.cert) - now;
        const wait = Math.max(SHORTEST_PAUSE, Math.min(backoffDelay(RETRY, failures, Math.random()), left / 8));
        tries.set(name, { next: now + wait, failures });
        log.warn(
          { link: name, error },
          `the certificate of the link could not be renewed, next try in ${Math.round(wait / 1000)} s: ${messageOf(error)}`,
        );
        await answer({ refused: messageOf(error) });
      })
      .catch((error: unknown) => log.error({ link: name, error }, `what came of a renewal cannot be told: ${messageOf(error)}`))
      .finally(() => {
        running.delete(name);
        onRenewed();
      });
  }

  return {
    check: async (links, router, ours, now) => {
      const asked = await requests.open();
      for (const name of asked) {
        const hindrance = hindranceOf(
          links.find((link) => linkOf(link) === name),
          ours,
        );
        if (hindrance !== undefined) await requests.answer(name, { refused: hindrance });
      }
      const started: string[] = [];
      for (const link of links) {
        const { tls, name } = link;
        if (tls.cert === undefined || !ours(tls.name) || running.has(name)) continue;
        if (router.state.links[name]?.operational !== true) continue;
        const isAsked = asked.has(linkOf(link));
        const next = tries.get(name)?.next ?? 0;
        if (!isAsked && (next > now || !isDue(tls.cert, now))) {
          if (next <= now + soon.within && isDue(tls.cert, now + soon.within)) lookSoon();
          continue;
        }
        start(link, router, isAsked, now);
        started.push(name);
      }
      return started;
    },
  };
}

interface Renewed {
  readonly serial: string;
  readonly before: string;
  readonly until: number;
}

/** The Link's own name: the router has it with its kind, `Link/NAME`. */
function linkOf({ name }: LinkConfig): string {
  return name.slice(name.indexOf('/') + 1);
}

/** Why its certificate will not be renewed whatever happens. */
function hindranceOf(link: LinkConfig | undefined, ours: (bundle: string) => boolean): string | undefined {
  if (link === undefined) return 'the link is not in use: its status says why';
  const { name, cert } = link.tls;
  if (!ours(name)) return `its certificate is your own: put another into input/certs/${name}`;
  return cert === undefined ? 'it has no certificate' : undefined;
}

function isDue(cert: string, now: number): boolean {
  try {
    return isRenewalDue(certificateFacts(cert, "the link's tls.crt"), now);
  } catch {
    // Mangled: the plan says so.
    return false;
  }
}

/** Milliseconds since 1970; far off where it cannot be read. */
function endOf(cert: string | undefined): number {
  try {
    return cert === undefined ? Infinity : certificateFacts(cert, "the link's tls.crt").notAfter;
  } catch {
    return Infinity;
  }
}

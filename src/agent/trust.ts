/** Trust of one site, as its leading process looks after it: certificates, grants, tokens, links for others, renewal. */
import type { Site } from '../api/skupper/index.ts';
import { openLedger } from '../trust/disk/ledger.ts';
import type { Ledger } from '../trust/stores.ts';
import type { LinkOffer } from '../trust/tokens/contract.ts';
import type { LinkConfig, Router, RouterState } from '../router/contract.ts';
import { listAccesses } from '../site/plan/access.ts';
import { planCertificates } from '../site/plan/certificates.ts';
import { certificateHosts, commonBindHost, endpointsOf, reachableHosts, type Reach } from '../site/reach.ts';
import type { CertificateState, TrustFacts } from '../site/observe/trust-facts.ts';
import type { ResourceProblem } from '../site/problem.ts';
import { nameOf, type SiteResources } from '../site/resources.ts';
import { messageOf, type Logger } from '../telemetry/log.ts';
import type { Authorities } from './authorities.ts';
import { createGrants, GRANT_SERVER_BUNDLE } from './grants.ts';
import type { Identity } from '../platform/linux/identity.ts';
import { createIssuedBundles } from './certificates.ts';
import type { NamespaceLayout } from '../platform/linux/layout.ts';
import { createRenewals } from './renewals.ts';
import type { SiteSettings } from './settings.ts';
import { createStaticLinks } from '../platform/linux/offline-links.ts';
import { createTokens } from './tokens.ts';
import { EarshotError } from '../errors/earshot-error.ts';

export interface TrustInput {
  readonly resources: SiteResources;
  readonly site: Site;
  readonly settings: SiteSettings;
  readonly reach: Reach;
  /** Bundles that the person has put there: never replaced. */
  readonly userBundles: ReadonlySet<string>;
  readonly now: number;
}

export interface TrustOutcome {
  readonly facts: TrustFacts;
  readonly problems: readonly ResourceProblem[];
}

export interface Trust extends AsyncDisposable {
  /** Brings everything in line with the resources. */
  step(input: TrustInput): Promise<TrustOutcome>;
  /** What depends on the router's state: links for others, renewals. */
  follow(router: Router, links: readonly LinkConfig[]): Promise<void>;
}

export interface TrustOptions {
  readonly layout: NamespaceLayout;
  readonly identity: Identity;
  readonly authorities: Authorities;
  readonly log: Logger;
  readonly routerState: () => RouterState | undefined;
  /** Something changed that the next step takes in. */
  readonly onChange: () => void;
}

export async function createTrust(options: TrustOptions): Promise<Trust> {
  const { layout, identity, authorities, log, routerState, onChange } = options;
  const ledger: Ledger = await openLedger(layout.internal.trust);
  const issued = createIssuedBundles(layout, authorities);
  const writeStaticLinks = createStaticLinks({ layout, ledger, authorities });
  const tokens = createTokens({ layout, log, onChange });
  const renewals = createRenewals(layout, log, onChange);
  let latest: TrustInput | undefined;
  const grants = createGrants({
    layout,
    ledger,
    log,
    onChange,
    offer: () => offerOf(latest, identity, routerState()),
    authority: (issuer) => (latest === undefined ? Promise.reject(noSite()) : authorities.find(issuer, latest.site)),
  });

  async function issue(
    input: TrustInput,
  ): Promise<{ readonly certificates: Map<string, CertificateState>; readonly problems: readonly ResourceProblem[] }> {
    const { resources, site, reach, userBundles, now } = input;
    const certificates = new Map<string, CertificateState>();
    const problems: ResourceProblem[] = [];
    const wanted = [...planCertificates(resources, site, reach)];
    if (resources.AccessGrant.length > 0) wanted.push(grantServerBundle(input));
    for (const bundle of wanted) {
      if (userBundles.has(bundle.name)) {
        certificates.set(bundle.name, {});
        continue;
      }
      // The site's own servers keep the default lifetime: what is settable is that of links.
      const { problem, expires, written } = await issued.ensure(bundle, site, now);
      certificates.set(bundle.name, { ...(expires === undefined ? {} : { expires }), ...(problem === undefined ? {} : { problem }) });
      if (written) {
        log.info({ bundle: bundle.name, hosts: bundle.order.hosts }, 'certificate issued');
        if (bundle.order.signing) authorities.forget();
      }
      if (problem !== undefined && !bundle.resource.startsWith('Certificate/')) {
        problems.push({
          resource: bundle.resource,
          severity: 'error',
          code: problem.code,
          message: `its certificate cannot be made: ${problem.message}`,
        });
      }
    }
    return { certificates, problems };
  }

  return {
    step: async (input) => {
      latest = input;
      const { resources, site, settings, reach, now } = input;
      const { certificates, problems } = await issue(input);
      const { accesses } = listAccesses(resources, site);
      const [first] = accesses;
      const bindHost = commonBindHost(accesses);
      const grantFacts = await grants.ensure(
        resources.AccessGrant,
        {
          ...(bindHost === undefined ? {} : { host: bindHost }),
          port: settings.grantPort,
          hosts: reachableHosts(first, reach),
          ...(settings.certificateDays === undefined ? {} : { certificateDays: settings.certificateDays }),
        },
        now,
      );
      const tokenFacts = await tokens.ensure(resources.AccessToken, site, identity);
      return {
        facts: {
          grants: grantFacts,
          tokens: tokenFacts,
          certificates,
          defaultIssuer:
            site.spec.defaultIssuer === undefined || site.spec.defaultIssuer === '' ? 'earshot-site-ca' : site.spec.defaultIssuer,
        },
        problems,
      };
    },
    follow: async (router, links) => {
      if (latest === undefined) return;
      const { resources, site, reach, settings, userBundles, now } = latest;
      await renewals.check(links, router, (bundle) => !userBundles.has(bundle), now);
      const { accesses } = listAccesses(resources, site);
      try {
        const sources = accesses.map((access) => ({ access, endpoints: endpointsOf(access, reach, router.state.accesses) }));
        await writeStaticLinks(sources, site, now, settings.certificateDays);
      } catch (error) {
        log.error({ error }, `links for other sites cannot be written: ${messageOf(error)}`);
      }
    },
    [Symbol.asyncDispose]: async () => {
      tokens[Symbol.dispose]();
      await grants[Symbol.asyncDispose]();
    },
  };
}

function offerOf(input: TrustInput | undefined, identity: Identity, state: RouterState | undefined): LinkOffer {
  if (input === undefined || state === undefined) throw noSite();
  const { resources, site, reach } = input;
  const endpoints = listAccesses(resources, site).accesses.flatMap((access) => endpointsOf(access, reach, state.accesses));
  return {
    siteId: identity.id,
    siteName: nameOf(site),
    endpoints: endpoints.map(({ name = '', host = '', port = '', group }) => ({
      name,
      host,
      port,
      ...(group === undefined ? {} : { group }),
    })),
  };
}

function grantServerBundle({ resources, site, reach }: TrustInput): ReturnType<typeof planCertificates>[number] {
  const { accesses } = listAccesses(resources, site);
  const hosts = accesses.length === 0 ? certificateHosts(undefined, reach) : accesses.flatMap((access) => certificateHosts(access, reach));
  return {
    name: GRANT_SERVER_BUNDLE,
    resource: `Site/${nameOf(site)}`,
    issuer: { kind: 'default' },
    order: { subject: nameOf(site), hosts: [...new Set(hosts)], client: false, server: true, signing: false },
  };
}

function noSite(): EarshotError {
  return new EarshotError('no-site', 'this namespace has no Site that runs; create one');
}

/**
 * Decides whether a revocation applies (pure). Every admission uses this function: handshakes, hellos, requests, renewals and redemptions.
 * It also applies to open connections when the list changes.
 */
import type { Revocations } from './issued.ts';

/** Known identifiers of a peer or request. */
export interface Party {
  /** Site ID that a hello proved. */
  readonly site?: string | undefined;
  readonly certificate?: ShownCertificate | undefined;
  /** IDs of sites or routers (`SITE-ID/ROUTER`) that a request has passed, or has yet to pass. */
  readonly path?: readonly string[] | undefined;
}

export interface ShownCertificate {
  /** Serial numbers of the certificate and its issuers, upper-case hex. */
  readonly serials: readonly string[];
  /** IDs of the sites that the certificate names. */
  readonly sites: readonly string[];
}

/** `Revocations` as sets for lookups. */
export interface RevokedSets {
  readonly sites: ReadonlySet<string>;
  readonly serials: ReadonlySet<string>;
}

export type Revoked = { readonly kind: 'site' | 'certificate'; readonly id: string };

/** Whether anything is revoked: callers need not gather the identifiers of a party otherwise. */
export function hasRevocations({ sites, serials }: RevokedSets): boolean {
  return sites.size > 0 || serials.size > 0;
}

/** Returns the first revoked identifier of a party; undefined if none is revoked. */
export function revokedOf({ site, certificate, path = NONE }: Party, revoked: RevokedSets): Revoked | undefined {
  if (!hasRevocations(revoked)) return undefined;
  const serial = certificate?.serials.find((one) => revoked.serials.has(serialOf(one)));
  if (serial !== undefined) return { kind: 'certificate', id: serial };
  if (revoked.sites.size === 0) return undefined;
  const sites = [...(site === undefined ? NONE : [site]), ...(certificate?.sites ?? NONE), ...path].map(siteOf);
  const id = sites.find((one) => revoked.sites.has(one));
  return id === undefined ? undefined : { kind: 'site', id };
}

/** @param self ID of the own site, which is never revoked for itself */
export function revokedSets({ sites, serials }: Revocations, self?: string): RevokedSets {
  return { sites: new Set(sites.map(siteOf).filter((id) => id !== self)), serials: new Set(serials.map(serialOf)) };
}

/** A router's ID begins with its site's ID. */
const siteOf = (id: string): string => id.slice(0, UUID).toLowerCase();

/** Some programs write serial numbers with leading zeros. */
const serialOf = (serial: string): string => serial.toUpperCase().replace(/^0+/, '');

const UUID = 36;
const NONE: readonly string[] = [];

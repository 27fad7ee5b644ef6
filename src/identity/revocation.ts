/**
 * Whom a revocation hits. There is one answer to that, and whoever lets somebody in, on or through asks for it here: handshakes, hellos,
 * requests, renewals, redemptions, and each of them again for what is open when the list changes. Pure.
 */
import type { Revocations } from './issued.ts';

/** Everything by which somebody may be known. What is not known is left out. */
export interface Party {
  /** The site that a hello proved. */
  readonly site?: string | undefined;
  readonly certificate?: ShownCertificate | undefined;
  /** Ids of sites, or of routers (`SITE-ID/ROUTER`), that a request has passed, and has yet to pass. */
  readonly path?: readonly string[] | undefined;
}

export interface ShownCertificate {
  /** Its own serial number, and those of the certificates that it comes from: upper-case hex. */
  readonly serials: readonly string[];
  /** Ids of the sites that it names. */
  readonly sites: readonly string[];
}

/** `Revocations`, made for asking. */
export interface RevokedSets {
  readonly sites: ReadonlySet<string>;
  readonly serials: ReadonlySet<string>;
}

export type Revoked = { readonly kind: 'site' | 'certificate'; readonly id: string };

/** The first thing about a party that is revoked; undefined where nothing is. */
export function revokedOf({ site, certificate, path = NONE }: Party, revoked: RevokedSets): Revoked | undefined {
  const serial = certificate?.serials.find((one) => revoked.serials.has(serialOf(one)));
  if (serial !== undefined) return { kind: 'certificate', id: serial };
  if (revoked.sites.size === 0) return undefined;
  const sites = [...(site === undefined ? NONE : [site]), ...(certificate?.sites ?? NONE), ...path].map(siteOf);
  const id = sites.find((one) => revoked.sites.has(one));
  return id === undefined ? undefined : { kind: 'site', id };
}

/** @param self a site that is never revoked: to itself */
export function revokedSets({ sites, serials }: Revocations, self?: string): RevokedSets {
  return { sites: new Set(sites.map(siteOf).filter((id) => id !== self)), serials: new Set(serials.map(serialOf)) };
}

/** The site of a router is its first part. */
const siteOf = (id: string): string => id.slice(0, UUID).toLowerCase();

/** Programs write a serial number with zeros before it, and without. */
const serialOf = (serial: string): string => serial.toUpperCase().replace(/^0+/, '');

const UUID = 36;
const NONE: readonly string[] = [];

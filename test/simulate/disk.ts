/** State of a site that outlives its processes. */
import type { RenewalAnswer } from '../../src/agent/ports.ts';
import type { Revocations } from '../../src/identity/issued.ts';
import { refuseEntry } from '../../src/trust/revocation.ts';
import type { IssuedEntry, RevokedSite } from '../../src/trust/stores.ts';
import type { TestBundle } from './certificates.ts';

/** Fault of a disk: everything is slow, or nothing can be written. */
export type DiskTrouble = 'slow' | 'full';

/** Disk of one machine. */
export class Disk {
  /** Bundles for its links, by the names of links. */
  readonly bundles = new Map<string, TestBundle>();
  /** Keys that wait for a certificate. */
  readonly keys = new Map<string, string>();
  /** Requests to renew these links' certificates now. */
  readonly asked = new Map<string, Question>();
  trouble: DiskTrouble | undefined;
  /** A write that began while the disk was slow may take longer than that lasts. */
  busyUntil = 0;
  /** Which process looks after the site. */
  leader: object | undefined;
}

interface Question {
  /** Of that link's. */
  readonly number: number;
  /** Result of the renewal. */
  readonly answer?: RenewalAnswer;
}

interface Successor extends IssuedEntry {
  readonly before: string | undefined;
}

/** Certificates that a site has issued, for all its routers. */
export class Issued {
  readonly entries: Successor[] = [];

  /** @throws TrustError where its site, or the certificate before it, is revoked by now */
  record(entry: IssuedEntry, before: string | undefined, revoked: Revocations): void {
    refuseEntry(entry, revokedIn(revoked), before === undefined ? undefined : { kind: 'renewal', serial: before });
    this.entries.push({ ...entry, before });
  }

  /** All serial numbers of certificates that a site got. */
  serialsOf(siteId: string): readonly string[] {
    return this.entries.filter((entry) => entry.siteId === siteId).map(({ serial }) => serial);
  }

  /** How often a certificate has been renewed, whether the answer has arrived or not. */
  successorsOf(serial: string): number {
    return this.entries.filter(({ before }) => before === serial).length;
  }

  /** Those that it is the successor of. */
  before(serial: string): readonly string[] {
    const before = this.entries.find((entry) => entry.serial === serial)?.before;
    return before === undefined ? [] : [before, ...this.before(before)];
  }
}

export function revokedIn({ sites, serials }: Revocations): readonly RevokedSite[] {
  return sites.length + serials.length === 0 ? [] : [{ name: 'revoked', at: 0, siteIds: sites, serials }];
}

import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { rm, rmdir } from 'node:fs/promises';
import { readBundle } from './disk/bundle-files.ts';
import type { Disk } from '../files/disk.ts';
import { draftFor } from '../files/durable.ts';
import { hasCode } from '../files/errno.ts';
import { checkBundle } from '../identity/bundle-check.ts';
import type { TlsBundle } from '../identity/tls-bundle.ts';
import type { Authority, Clock } from './contract.ts';
import { realDisk } from './disk/disk.ts';
import { TrustError } from './errors.ts';
import { buildRoot } from './issue.ts';
import { acquireLock } from './disk/lock.ts';
import { isCertificateBlock, readPem, writePem } from '../x509/pem.ts';
import { createKey } from '../x509/request.ts';

const ROOT_DAYS = 3_650;

export interface SiteAuthorityOptions {
  readonly siteName: string;
  readonly clock?: Clock;
  readonly disk?: Disk;
}

/**
 * The site's own authority, made on first use and never again: every certificate and token of the site hangs on it.
 * Its directory comes into being with both files or not at all; one that lacks a file, or holds another than ours, is named.
 */
export async function openSiteAuthority(directory: string, options: SiteAuthorityOptions): Promise<Authority> {
  const disk = options.disk ?? realDisk;
  const clock = options.clock ?? Date.now;
  if ((await disk.names(directory)).length === 0) await makeAuthority(directory, options.siteName, clock, disk);
  const bundle = await readBundle(directory, 'the site authority', disk);
  for (const [part, file] of [
    ['cert', 'tls.crt'],
    ['key', 'tls.key'],
  ] as const) {
    if (bundle[part] === undefined) throw damaged(directory, `${file} is missing`);
  }
  try {
    return authorityOf(bundle, 'the site authority', clock);
  } catch (error) {
    // An authority that has merely ended, or a wrong clock, is no damage.
    if (!(error instanceof TrustError) || error.code === 'tls-expired' || error.code === 'tls-not-yet-valid') throw error;
    throw damaged(directory, error.message, error);
  }
}

function damaged(directory: string, what: string, cause?: unknown): TrustError {
  return new TrustError(
    'state-damaged',
    `the site's certificate authority in ${directory} is damaged: ${what}. Restore the directory from a backup; ` +
      'or remove it, and a new authority is made: then all links to this site and all tokens must be issued anew',
    cause,
  );
}

async function makeAuthority(directory: string, siteName: string, clock: Clock, disk: Disk): Promise<void> {
  await using _lock = await acquireLock(`${directory}.lock`, { waitMilliseconds: 10_000 });
  if ((await disk.names(directory)).length > 0) return;
  await removeUnfinished(directory, disk);
  const key = createKey();
  // A name that tells two authorities of sites of one name apart would help nobody: the key identifiers do.
  const der = buildRoot(`earshot site ${siteName}`.slice(0, 64), createPrivateKey(key), ROOT_DAYS, clock());
  const unfinished = draftFor(directory);
  await disk.makeDirectory(unfinished);
  await disk.create(join(unfinished, 'tls.key'), key, 0o600);
  await disk.create(join(unfinished, 'tls.crt'), writePem('CERTIFICATE', der), 0o600);
  await disk.syncDirectory(unfinished);
  await rmdir(directory).catch((error: unknown) => {
    if (!hasCode(error, 'ENOENT')) throw error;
  });
  await disk.rename(unfinished, directory);
  await disk.syncDirectory(dirname(directory));
}

async function removeUnfinished(directory: string, disk: Disk): Promise<void> {
  const parent = dirname(directory);
  for (const name of await disk.names(parent)) {
    const isOurs = name.startsWith(`.${basename(directory)}.`) && /\.[0-9a-f]{12}\.tmp$/.test(name);
    if (isOurs) await rm(join(parent, name), { recursive: true, force: true });
  }
}

/** A user's authority: `tls.crt`, `tls.key`, and `ca.crt` where `tls.crt` does not hold the root. @throws TrustError */
export async function readAuthority(directory: string, name: string, clock: Clock = Date.now): Promise<Authority> {
  const bundle = await readBundle(directory, name);
  if (bundle.cert === undefined && bundle.key === undefined) {
    throw new TrustError(
      'authority-missing',
      `there is no certificate authority ${JSON.stringify(name)}: put its tls.crt and tls.key into ${directory}`,
    );
  }
  return authorityOf(bundle, name, clock);
}

/** @throws TrustError with the first thing that is wrong */
export function authorityOf(bundle: TlsBundle, name: string, clock: Clock): Authority {
  const check = checkBundle(bundle, { kind: 'authority' }, clock);
  if (!check.ok) throw new TrustError(check.problems[0].code, check.problems[0].message);
  // The check has read both.
  const certificates = certificatesOf(bundle.cert ?? '');
  const [certificate] = certificates;
  if (certificate === undefined) throw new TrustError('tls-no-cert', `bundle ${name}: tls.crt holds no certificate`);
  const key: KeyObject = createPrivateKey(bundle.key ?? '');
  const roots = certificates.filter(isSelfIssued);
  const last = roots.at(-1) ?? certificate;
  return {
    name,
    certificate,
    key,
    chain: certificates
      .filter((one) => !isSelfIssued(one))
      .map(pemOf)
      .join(''),
    ca: bundle.ca === undefined ? pemOf(last) : certificatesOf(bundle.ca).map(pemOf).join(''),
  };
}

const certificatesOf = (pem: string): X509Certificate[] =>
  readPem(pem)
    .filter(isCertificateBlock)
    .map(({ der }) => new X509Certificate(der));

const isSelfIssued = (certificate: X509Certificate): boolean => certificate.checkIssued(certificate);
const pemOf = (certificate: X509Certificate): string => writePem('CERTIFICATE', certificate.raw);

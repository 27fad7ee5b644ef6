/** Certificates that are not Earshot's: what users bring as bundles, what servers show. Made by the openssl program. */
import { mkdir, writeFile } from 'node:fs/promises';
import { run } from '../../harness/command.ts';

/** PEM files. */
export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
  /** The authority's certificate. */
  readonly ca: string;
}

export interface Authority {
  readonly dir: string;
  readonly cert: string;
  readonly key: string;
}

export interface LeafOptions {
  /** Subject alternative names: host names and addresses. */
  readonly hosts?: readonly string[];
  readonly days?: number;
}

/** An authority of its own (ECDSA P-256) in a folder that is made. */
export async function createAuthority(dir: string, name = 'Test CA'): Promise<Authority> {
  await mkdir(dir, { recursive: true });
  const [cert, key] = [`${dir}/ca.crt`, `${dir}/ca.key`];
  await run('openssl', [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-days',
    '30',
    '-subj',
    `/CN=${name}`,
    '-addext',
    'keyUsage=critical,keyCertSign,cRLSign',
    '-keyout',
    key,
    '-out',
    cert,
  ]);
  return { dir, cert, key };
}

/** A certificate for servers and clients alike, in the authority's folder. */
export async function issue({ dir, cert: ca, key: caKey }: Authority, name: string, options: LeafOptions = {}): Promise<CertificateFiles> {
  const { hosts = [name], days = 30 } = options;
  const [cert, key, extensions] = [`${dir}/${name}.crt`, `${dir}/${name}.key`, `${dir}/${name}.ext`];
  const names = hosts.map((host) => (/^[\d.]+$|:/.test(host) ? `IP:${host}` : `DNS:${host}`)).join(',');
  await writeFile(extensions, `subjectAltName=${names}\nextendedKeyUsage=serverAuth,clientAuth\nkeyUsage=critical,digitalSignature\n`);
  const request = await run('openssl', [
    'req',
    '-new',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-subj',
    `/CN=${name}`,
    '-keyout',
    key,
  ]);
  await run('openssl', ['x509', '-req', '-CA', ca, '-CAkey', caKey, '-days', String(days), '-extfile', extensions, '-out', cert], {
    input: request,
  });
  return { cert, key, ca };
}

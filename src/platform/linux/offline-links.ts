/**
 * `runtime/links/`: links that other sites can use without a token, `link-ACCESS-HOST.yaml`: a Secret with a client
 * certificate and a Link that names it, as Skupper writes them. Whoever has the file can link, so they are for this user alone.
 */
import { createHash } from 'node:crypto';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { API_VERSION } from '../../api/skupper/names.ts';
import type { Endpoint, Site } from '../../api/skupper/index.ts';
import { certificateFacts } from '../../x509/facts.ts';
import { issueBundle } from '../../trust/issue.ts';
import { readBundle, writeBundle } from '../../trust/disk/bundle-files.ts';
import { revocationsOf } from '../../trust/revocation.ts';
import type { IssuedBundle } from '../../identity/tls-bundle.ts';
import type { Ledger } from '../../trust/stores.ts';
import type { Access } from '../../site/plan/access.ts';
import type { Authorities } from '../../agent/authorities.ts';
import { emitYaml } from './write-yaml.ts';
import { readText, removeFile, writeDurably } from '../../files/durable.ts';
import { isRenewalDue } from '../../agent/due.ts';
import type { NamespaceLayout } from './layout.ts';

export interface StaticLinkSource {
  readonly access: Access;
  /** Of what listens now. */
  readonly endpoints: readonly Endpoint[];
}

export interface StaticLinksOptions {
  readonly layout: NamespaceLayout;
  readonly ledger: Ledger;
  readonly authorities: Authorities;
}

export type WriteStaticLinks = (sources: readonly StaticLinkSource[], site: Site, now: number, days?: number) => Promise<void>;

export function createStaticLinks({ layout, ledger, authorities }: StaticLinksOptions): WriteStaticLinks {
  /** One certificate for each access, put on record so that it can be revoked by its name; then the next one is made. */
  async function bundleFor(
    name: string,
    site: Site,
    issuer: string | undefined,
    now: number,
    days: number | undefined,
  ): Promise<IssuedBundle> {
    const directory = join(layout.internal.certs, name);
    const { cert, key, ca } = await readBundle(directory, name);
    const authority = await authorities.find(issuer, site);
    if (cert !== undefined && key !== undefined && ca !== undefined) {
      const facts = certificateFacts(cert, `internal/certs/${name}/tls.crt`);
      const { serials } = revocationsOf(await ledger.revoked());
      if (facts.notBefore <= now && !isRenewalDue(facts, now) && !serials.includes(facts.serial)) return { name, cert, key, ca };
    }
    const made = issueBundle(authority, name, { subject: name, client: true, ...(days === undefined ? {} : { days }) });
    await ledger.record({ siteName: name, serial: made.serial, notAfter: certificateFacts(made.cert, name).notAfter });
    await writeBundle(directory, made);
    return made;
  }

  return async (sources, site, now, days) => {
    const wanted = new Map<string, string>();
    for (const { access, endpoints } of sources) {
      if (endpoints.length === 0) continue;
      const name = `link-${access.name}`;
      const bundle = await bundleFor(name, site, access.issuer, now, days);
      for (const [host, own] of Map.groupBy(endpoints, (endpoint) => endpoint.host ?? '')) {
        wanted.set(`${name}-${fileWord(host)}.yaml`, linkFile(name, own, bundle));
      }
    }
    await mkdir(layout.runtime.links, { recursive: true, mode: 0o700 });
    for (const name of await readdir(layout.runtime.links)) {
      if (!wanted.has(name) && /^link-.*\.yaml$/.test(name)) await removeFile(join(layout.runtime.links, name));
    }
    for (const [name, text] of wanted) {
      const path = join(layout.runtime.links, name);
      if ((await readText(path, { bytes: 1024 * 1024 })) !== text) await writeDurably(path, text, 0o600);
    }
  };
}

function linkFile(name: string, endpoints: readonly Endpoint[], { cert, key, ca }: IssuedBundle): string {
  const encode = (text: string): string => Buffer.from(text).toString('base64');
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name },
    type: 'kubernetes.io/tls',
    data: { 'ca.crt': encode(ca), 'tls.crt': encode(cert), 'tls.key': encode(key) },
  };
  const link = {
    apiVersion: API_VERSION,
    kind: 'Link',
    metadata: { name },
    spec: { cost: 1, endpoints: endpoints.map(({ name: role, host, port }) => ({ name: role, host, port })), tlsCredentials: name },
  };
  return `---\n${emitYaml(secret)}---\n${emitYaml(link)}`;
}

/** A host as part of a file's name; one that cannot be gets a name of its own. */
function fileWord(host: string): string {
  return /^[\w.:-]{1,200}$/.test(host) ? host : createHash('sha256').update(host).digest('hex').slice(0, 16);
}

/**
 * `runtime/links/`: links that other sites can use without a token, `link-ACCESS-HOST.yaml`: a Secret with a client
 * certificate and a Link that names it, as Skupper writes them. Whoever has the file can link, so they are for this user alone.
 */
import { createHash } from 'node:crypto';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { OfflineLink } from '../../agent/ports.ts';
import { API_VERSION } from '../../api/skupper/names.ts';
import { writeYaml } from '../../text/write-yaml.ts';
import { readText, removeFile, writeDurably } from '../../files/durable.ts';

export async function replaceOfflineLinks(directory: string, links: readonly OfflineLink[]): Promise<void> {
  const wanted = new Map(links.map((link) => [`${link.name}-${fileWord(link.host)}.yaml`, linkFile(link)]));
  await mkdir(directory, { recursive: true, mode: 0o700 });
  for (const name of await readdir(directory)) {
    if (!wanted.has(name) && /^link-.*\.yaml$/.test(name)) await removeFile(join(directory, name));
  }
  for (const [name, text] of wanted) {
    const path = join(directory, name);
    if ((await readText(path, { bytes: 1024 * 1024 })) !== text) await writeDurably(path, text, 0o600);
  }
}

function linkFile({ name, endpoints, bundle: { cert, key, ca } }: OfflineLink): string {
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
  return `---\n${writeYaml(secret)}---\n${writeYaml(link)}`;
}

/** A host as part of a file's name; one that cannot be gets a name of its own. */
function fileWord(host: string): string {
  return /^[\w.:-]{1,200}$/.test(host) ? host : createHash('sha256').update(host).digest('hex').slice(0, 16);
}

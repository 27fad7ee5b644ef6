/**
 * Files `runtime/links/link-ACCESS-HOST.yaml`: links that other sites can use without a token. Each contains a Secret with a client
 * certificate and a Link that refers to it, as Skupper writes them. Read access is enough to link, so only this user has it. Only existing
 * files are updated: an empty file is a request.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { OfflineLink, OfflineLinks } from '../../agent/ports.ts';
import { API_VERSION } from '../../api/skupper/names.ts';
import type { TlsBundle } from '../../identity/tls-bundle.ts';
import { writeYaml } from '../../text/write-yaml.ts';
import { parseYaml } from '../../text/yaml.ts';
import { realDisk } from '../../files/disk.ts';
import { hasCode } from '../../files/errno.ts';
import { makeDirectory, readText, removeFile, writeDurably } from '../../files/durable.ts';
import { isSecret, readSecret } from './secret.ts';

const MOST_BYTES = 1024 * 1024;

/** Also used by commands. */
export class OfflineLinkFiles implements OfflineLinks {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async find(name: string, host: string): Promise<TlsBundle | undefined> {
    const text = await this.read(name, host);
    return text === undefined ? undefined : bundleIn(name, text);
  }

  async put(link: OfflineLink): Promise<void> {
    const text = linkFile(link);
    if ((await this.read(link.name, link.host)) !== text) await writeDurably(this.#pathOf(link.name, link.host), text, 0o600);
  }

  async keepOnly(names: readonly string[]): Promise<void> {
    for (const file of await realDisk.names(this.#directory)) {
      const isOurs = /^link-.*\.yaml$/.test(file);
      if (isOurs && !names.some((name) => file.startsWith(`${name}-`))) await removeFile(join(this.#directory, file));
    }
  }

  /** Requests a link, unless its file exists. */
  async ask(name: string, host: string): Promise<void> {
    await makeDirectory(this.#directory, 0o700);
    await realDisk.create(this.#pathOf(name, host), '', 0o600).catch((error: unknown) => {
      if (!hasCode(error, 'EEXIST')) throw error;
    });
  }

  /** Returns the content of the file. */
  read(name: string, host: string): Promise<string | undefined> {
    return readText(this.#pathOf(name, host), { bytes: MOST_BYTES });
  }

  #pathOf(name: string, host: string): string {
    return join(this.#directory, `${name}-${fileWord(host)}.yaml`);
  }
}

/** Returns a bundle without parts if the content is not as Earshot wrote it. */
function bundleIn(name: string, text: string): TlsBundle {
  try {
    const secret = parseYaml(text).find(isSecret);
    const read = secret === undefined ? undefined : readSecret(secret);
    return read !== undefined && 'bundle' in read ? { ...read.bundle, name } : { name };
  } catch {
    return { name };
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

/** Returns a host as part of a file name, or a hash if it contains other characters. */
function fileWord(host: string): string {
  return /^[\w.:-]{1,200}$/.test(host) ? host : createHash('sha256').update(host).digest('hex').slice(0, 16);
}

/**
 * Files `runtime/links/link-ACCESS-HOST.yaml`: links that other sites can use without a token. Each contains a Secret with a client
 * certificate and a Link that refers to it, as Skupper writes them. Read access is enough to link, so only this user has it.
 */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { OfflineLink, OfflineLinks } from '../../agent/ports.ts';
import { API_VERSION } from '../../api/skupper/names.ts';
import { writeYaml } from '../../text/write-yaml.ts';
import { realDisk } from '../../files/disk.ts';
import { makeDirectory, readText, removeFile, writeDurably } from '../../files/durable.ts';
import { isRoot, securePath } from '../../files/secure-path.ts';

const MOST_BYTES = 1024 * 1024;
/** A file name has at most 255 bytes. A longer one is cut, and a hash is appended. */
const [MOST_CHARACTERS, HEAD] = [240, 200];

/** Also used by commands. */
export class OfflineLinkFiles implements OfflineLinks {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async put(link: OfflineLink): Promise<void> {
    const text = linkFile(link);
    if ((await this.read(link.name, link.host)) === text) return;
    await makeDirectory(this.#directory, 0o700);
    // Skupper leaves it open to all users.
    await closeToOthers(this.#directory);
    await writeDurably(this.#pathOf(link.name, link.host), text, 0o600);
  }

  async keepOnly(links: readonly Pick<OfflineLink, 'name' | 'host'>[]): Promise<void> {
    const kept = new Set(links.map(({ name, host }) => basename(this.#pathOf(name, host))));
    for (const file of await realDisk.names(this.#directory)) {
      if (/^link-.*\.yaml$/.test(file) && !kept.has(file)) await removeFile(join(this.#directory, file));
    }
  }

  /** Returns the content of the file. */
  read(name: string, host: string): Promise<string | undefined> {
    return readText(this.#pathOf(name, host), { bytes: MOST_BYTES });
  }

  #pathOf(name: string, host: string): string {
    const file = `${name}-${fileWord(host)}`;
    return join(this.#directory, `${file.length <= MOST_CHARACTERS ? file : `${file.slice(0, HEAD)}-${hashOf(file)}`}.yaml`);
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
  return /^[\w.:-]{1,200}$/.test(host) ? host : hashOf(host);
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

async function closeToOthers(directory: string): Promise<void> {
  using place = securePath(directory);
  await using opened = await open(place.path, constants.O_RDONLY | constants.O_DIRECTORY | (isRoot ? constants.O_NOFOLLOW : 0));
  await opened.chmod(0o700);
}

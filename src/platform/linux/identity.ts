/** Identity of the site: a key that is created once. */
import type { Identity } from '../../agent/ports.ts';
import { siteIdOf } from '../../identity/site-id.ts';
import { generateSiteKey, siteKeyFrom } from '../../identity/site-key.ts';
import { makeDirectory, readText, writeDurably } from '../../files/durable.ts';
import { checkSiteId, type AnchorStore } from '../../trust/anchor.ts';
import type { NamespaceLayout } from './layout.ts';
import { EarshotError } from '../../errors/earshot-error.ts';

/**
 * Creates a key only if there has never been one. A damaged or missing key is for a person to restore: with a new key, all others see a new
 * site.
 * @param mayCreate only one process of a site creates the key
 * @returns undefined if there is no key and none may be created
 * @throws EarshotError `state-damaged`, `state-missing`
 */
export async function openIdentity(layout: NamespaceLayout, mayCreate: boolean, anchor: AnchorStore): Promise<Identity | undefined> {
  const path = layout.internal.identityKey;
  const pem = await readText(path, { bytes: 16_384 });
  const there = pem === undefined ? undefined : load(path, pem);
  const known = await anchor.get();
  checkSiteId(known, there?.id, path, anchor.location);
  if (there === undefined && !mayCreate) return undefined;
  const identity = there ?? (await make(layout));
  if (mayCreate && known.siteId !== identity.id) await anchor.change((before) => ({ ...before, siteId: identity.id }));
  return identity;
}

async function make(layout: NamespaceLayout): Promise<Identity> {
  const created = generateSiteKey();
  await makeDirectory(layout.internal.site, 0o700);
  await writeDurably(layout.internal.identityKey, created.pem, 0o600);
  return { id: siteIdOf(created.key.publicKey), key: created.key };
}

function load(path: string, pem: string): Identity {
  try {
    const key = siteKeyFrom(pem);
    return { id: siteIdOf(key.publicKey), key };
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    throw new EarshotError(
      'state-damaged',
      `${path} is damaged: ${words} To create a new identity, delete the file and internal/anchor.json; the links of the site then need new tokens.`,
      error,
    );
  }
}

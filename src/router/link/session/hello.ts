/**
 * First message in both directions of each connection of a link: the sender's identity and its proof. Whatever the certificate, a site
 * proves its ID with its own key, bound to this TLS connection and to the sender's end of it. So a hello can neither be replayed elsewhere
 * nor reflected to its sender.
 *
 * Message: type 0xf0 · 64 bytes Ed25519 signature · JSON. Signed: `EARSHOT HELLO 1` LF · `C` (TLS client) or `S` (TLS server) · 32 bytes of
 * TLS exporter · the JSON's bytes as sent.
 */
import type { SiteIdentity, SiteKey } from '../../contract.ts';
import { LinkError } from '../link-errors.ts';
import type { RouterId } from '../../../routing/contract.ts';
import { routerId } from '../../../routing/names.ts';
import { siteIdOf } from '../../../identity/site-id.ts';
import { PUBLIC_KEY_BYTES, SIGNATURE_BYTES, verifySignature } from '../../../identity/site-key.ts';
import { messageOfType } from './framing.ts';
import { COST, HELLO, VERSIONS } from '../../wire.ts';
import { MOST_COST } from '../../../routing/contract.ts';
import { isRecord } from '../../../text/is-record.ts';
import { isLabel, isSiteId } from '../../../text/names.ts';
import { isOneLine } from '../../../text/printable.ts';

export interface Hello {
  readonly versions: readonly number[];
  /** Name within the site. */
  readonly router: string;
  readonly site: SiteIdentity;
  readonly edge: boolean;
  /** Chosen by the dialing end; the accepting end returns the same. */
  readonly link: { readonly id: string; readonly cost: number };
}

/** The TLS connection, and the end of it that sends. */
export interface Binding {
  readonly exporter: Buffer;
  readonly role: 'client' | 'server';
}

/** ID of the sending router. */
export function routerOf({ site, router }: Hello): RouterId {
  return routerId(site.id, router);
}

const MOST_HELLO_BYTES = 8_192;
const CONTEXT = Buffer.from('EARSHOT HELLO 1\n');

export function writeHello(hello: Hello, key: SiteKey, binding: Binding): Buffer {
  const json = Buffer.from(JSON.stringify({ ...hello, publicKey: key.publicKey.toString('base64url') }));
  return messageOfType(HELLO, Buffer.concat([key.sign(signedBytes(json, binding)), json]));
}

/** @throws LinkError if it is not a hello, its proof is wrong, or there is no common version */
export function readHello(message: Buffer, binding: Binding): Hello {
  if (message[0] !== HELLO || message.length > MOST_HELLO_BYTES || message.length < 1 + SIGNATURE_BYTES + 2) {
    throw new LinkError('protocol', 'The peer did not begin with a hello.');
  }
  const signature = message.subarray(1, 1 + SIGNATURE_BYTES);
  const json = message.subarray(1 + SIGNATURE_BYTES);
  const { hello, publicKey } = parse(json);
  if (siteIdOf(publicKey) !== hello.site.id || !verifySignature(publicKey, signedBytes(json, binding), signature)) {
    throw new LinkError('wrong-proof', `The peer claims to be site ${hello.site.id}, but cannot prove it.`);
  }
  if (!hello.versions.some((version) => VERSIONS.includes(version))) {
    throw new LinkError(
      'version',
      `The peer supports versions ${shown(hello.versions)} of the link protocol, this router ${VERSIONS.join(', ')}. Update the older one.`,
    );
  }
  return hello;
}

const MOST_SHOWN = 5;
const shown = (versions: readonly number[]): string =>
  `${versions.slice(0, MOST_SHOWN).join(', ')}${versions.length > MOST_SHOWN ? ' and others' : ''}`;

export function writeCost(cost: number): Buffer {
  return messageOfType(COST, Buffer.from(JSON.stringify({ cost })));
}

/** @throws LinkError */
export function readCost(message: Buffer): number {
  const value = jsonObject(message.subarray(1));
  return costOf(value.cost);
}

function signedBytes(json: Buffer, binding: Binding): Buffer {
  return Buffer.concat([CONTEXT, Buffer.from(binding.role === 'client' ? 'C' : 'S'), binding.exporter, json]);
}

function parse(json: Buffer): { readonly hello: Hello; readonly publicKey: Buffer } {
  const value = jsonObject(json);
  const site = objectOf(value.site, 'site');
  const link = objectOf(value.link, 'link');
  if (!Array.isArray(value.versions) || value.versions.length === 0 || value.versions.length > 64 || !value.versions.every(isVersion)) {
    throw malformed('versions');
  }
  const publicKey = Buffer.from(
    textOf(value.publicKey, 'publicKey', (text) => /^[A-Za-z0-9_-]{43}$/.test(text)),
    'base64url',
  );
  if (publicKey.length !== PUBLIC_KEY_BYTES) throw malformed('publicKey');
  return {
    publicKey,
    hello: {
      versions: value.versions,
      router: textOf(value.router, 'router', isLabel),
      site: {
        id: textOf(site.id, 'site.id', isSiteId),
        name: textOf(site.name, 'site.name', isWords),
        namespace: textOf(site.namespace, 'site.namespace', isWords),
        platform: textOf(site.platform, 'site.platform', isWords),
        version: textOf(site.version, 'site.version', isWords),
      },
      edge: value.edge === true,
      link: { id: textOf(link.id, 'link.id', (text) => /^[0-9a-z]{16,64}$/.test(text)), cost: costOf(link.cost) },
    },
  };
}

/** Valid for names: no control characters, at most 253 UTF-16 code units. */
const isWords = (text: string): boolean => text.length <= 253 && isOneLine(text);

const isVersion = (value: unknown): value is number => typeof value === 'number' && Number.isSafeInteger(value) && value > 0;

function jsonObject(bytes: Buffer): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString());
  } catch (error) {
    throw new LinkError('protocol', 'The peer sent invalid JSON.', error);
  }
  return objectOf(value, 'message');
}

function objectOf(value: unknown, name: string): Readonly<Record<string, unknown>> {
  if (!isRecord(value)) throw malformed(name);
  return value;
}

function textOf(value: unknown, name: string, isValid: (text: string) => boolean): string {
  if (typeof value !== 'string' || !isValid(value)) throw malformed(name);
  return value;
}

function costOf(value: unknown): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1 || value > MOST_COST) throw malformed('cost');
  return value;
}

const malformed = (field: string): LinkError => new LinkError('protocol', `The peer's hello has no valid ${field}.`);

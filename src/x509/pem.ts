import { EarshotError } from '../errors/earshot-error.ts';
/** Block of a PEM text (RFC 7468). */
export interface PemBlock {
  readonly label: string;
  readonly der: Buffer;
  /** Line of its BEGIN, from 1. */
  readonly line: number;
}

/** The text is not PEM. The message gives location and reason. */
export class PemError extends EarshotError<'tls-mangled'> {
  constructor(message: string) {
    super('tls-mangled', message);
  }
}

/** A certificate takes 1 to 8 KiB, and a file of CAs contains several hundred. */
const MAX_CHARACTERS = 1_048_576;
const MAX_BLOCKS = 1_000;

/** Returns all blocks of a text. Text between them is explanatory (RFC 7468 section 2) and is skipped. */
export function readPem(text: string): readonly PemBlock[] {
  if (text.length > MAX_CHARACTERS) throw new PemError(`is longer than ${MAX_CHARACTERS} characters`);
  const blocks: PemBlock[] = [];
  let open: { label: string; line: number; body: string[] } | undefined;
  for (const [index, raw] of text.split(/\r\n|\n|\r/).entries()) {
    const line = raw.trim();
    const number = index + 1;
    const [, edge, label = ''] = /^-----(BEGIN|END) ([A-Z0-9 ]{1,64})-----$/.exec(line) ?? [];
    if (edge === 'BEGIN') {
      if (open !== undefined) {
        throw new PemError(`the ${open.label} that begins in line ${open.line} has no END line before line ${number}`);
      }
      if (blocks.length === MAX_BLOCKS) throw new PemError(`has more than ${MAX_BLOCKS} blocks`);
      open = { label, line: number, body: [] };
    } else if (edge === 'END') {
      if (open === undefined || open.label !== label) throw new PemError(`line ${number} ends a ${label} that does not begin`);
      blocks.push({ label, line: open.line, der: decode(open) });
      open = undefined;
    } else if (open !== undefined) {
      // An old encrypted key begins with headers (RFC 1421), which contain a colon. They are not part of the base64.
      if (!/^[A-Za-z0-9+/]*={0,2}$/.test(line) && !line.includes(':')) throw new PemError(`line ${number} is not base64`);
      if (!line.includes(':')) open.body.push(line);
    }
  }
  if (open !== undefined) throw new PemError(`the ${open.label} that begins in line ${open.line} has no END line; the text is cut short`);
  return blocks;
}

function decode(block: { label: string; line: number; body: readonly string[] }): Buffer {
  const base64 = block.body.join('');
  const der = Buffer.from(base64, 'base64');
  // Buffer stops at padding in the middle, and then returns fewer bytes than the text encodes.
  if (der.length === 0 || base64.length % 4 !== 0 || der.length !== (base64.length / 4) * 3 - (base64.match(/=/g)?.length ?? 0)) {
    throw new PemError(`the ${block.label} that begins in line ${block.line} is not whole base64`);
  }
  return der;
}

export function writePem(label: string, der: Uint8Array): string {
  const lines =
    Buffer.from(der.buffer, der.byteOffset, der.byteLength)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}

export const isCertificateBlock = ({ label }: PemBlock): boolean => label === 'CERTIFICATE' || label === 'X509 CERTIFICATE';

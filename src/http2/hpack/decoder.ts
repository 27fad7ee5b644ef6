import { Buffer } from 'node:buffer';

import { ConnectionError, ErrorCode } from '../errors.ts';
import { DynamicTable } from './dynamic-table.ts';
import { decodeHuffman } from './huffman.ts';
import { STATIC_TABLE } from './static-table.ts';

/** Decodes whole header blocks (RFC 7541); a truncated block is malformed. Octets become characters 0 to 255. */
export class HpackDecoder {
  readonly #table: DynamicTable;
  /** This end's SETTINGS_HEADER_TABLE_SIZE; the peer may choose any size up to it. */
  readonly #mostTableBytes: number;
  #block: Buffer = EMPTY;
  #at = 0;

  constructor(tableBytes: number) {
    this.#mostTableBytes = tableBytes;
    this.#table = new DynamicTable(tableBytes);
  }

  /** Approximate memory of the dynamic table, in bytes. */
  get held(): number {
    return this.#table.held;
  }

  /**
   * Calls `onField` in the order of the fields. All fields are decoded, used or not, to keep the dynamic table equal to the peer's.
   * @throws ConnectionError COMPRESSION_ERROR
   */
  decode(block: Buffer, onField: (name: string, value: string) => void): void {
    this.#block = block;
    this.#at = 0;
    let fields = 0;
    while (this.#at < block.length) {
      const first = block[this.#at] ?? 0;
      if (first & 0x80) {
        const index = this.#integer(7);
        onField(this.#nameAt(index), this.#valueAt(index));
        fields++;
      } else if ((first & 0xe0) === 0x20) {
        // Section 4.2: a size update must come first in a block.
        if (fields > 0) throw malformed('a change of the dynamic table size follows a field');
        this.#resize(this.#integer(5));
      } else {
        const indexed = (first & 0x40) !== 0;
        const index = this.#integer(indexed ? 6 : 4);
        const name = index === 0 ? this.#string() : this.#nameAt(index);
        const value = this.#string();
        if (indexed) this.#table.add(name, value);
        onField(name, value);
        fields++;
      }
    }
    this.#block = EMPTY;
  }

  #resize(bytes: number): void {
    if (bytes > this.#mostTableBytes)
      throw malformed(`the requested dynamic table size of ${bytes} bytes is over our limit of ${this.#mostTableBytes}`);
    this.#table.resize(bytes);
  }

  #nameAt(index: number): string {
    return this.#entry(index)[0];
  }

  #valueAt(index: number): string {
    return this.#entry(index)[1];
  }

  #entry(index: number): readonly [string, string] {
    const entry = index <= STATIC_TABLE.length ? STATIC_TABLE[index - 1] : this.#table.get(index - STATIC_TABLE.length - 1);
    if (entry === undefined) throw malformed(`no entry has index ${index}`);
    return entry;
  }

  /** Section 5.1. The limit on continuation octets keeps the value far below 2^31. */
  #integer(prefixBits: number): number {
    const mask = (1 << prefixBits) - 1;
    let value = this.#octet() & mask;
    if (value < mask) return value;
    for (let shift = 0; shift <= 21; shift += 7) {
      const octet = this.#octet();
      value += (octet & 0x7f) << shift;
      if ((octet & 0x80) === 0) return value;
    }
    throw malformed('an integer is too large');
  }

  #string(): string {
    const huffman = ((this.#block[this.#at] ?? 0) & 0x80) !== 0;
    const length = this.#integer(7);
    const start = this.#at;
    const end = start + length;
    if (end > this.#block.length) throw malformed('a string ends after its block');
    this.#at = end;
    if (!huffman) return this.#block.toString('latin1', start, end);
    const text = decodeHuffman(this.#block, start, end);
    if (text === undefined) throw malformed('a Huffman-coded string is not well-formed');
    return text;
  }

  #octet(): number {
    const octet = this.#block[this.#at++];
    if (octet === undefined) throw malformed('the block ends within a field');
    return octet;
  }
}

const EMPTY = Buffer.alloc(0);

function malformed(what: string): ConnectionError {
  return new ConnectionError(ErrorCode.COMPRESSION_ERROR, `header block: ${what}`);
}

import { Buffer } from 'node:buffer';

/** RFC 7541 section 5.2. @returns the octets as characters 0 to 255; undefined if the code is malformed */
export function decodeHuffman(source: Buffer, start: number, end: number): string | undefined {
  const table = (machine ??= buildMachine());
  // The shortest code has 5 bits.
  const most = Math.floor(((end - start) * 8) / 5) + 1;
  const out = most <= scratch.length ? scratch : Buffer.allocUnsafe(most);
  let length = 0;
  let step = ACCEPT;
  for (let at = start; at < end; at++) {
    const octet = source[at] ?? 0;
    for (let shift = 4; shift >= 0; shift -= 4) {
      step = table[(step >> STATE_SHIFT) * 16 + ((octet >> shift) & 15)] ?? FAIL;
      if (step & FAIL) return undefined;
      if (step & EMIT) out[length++] = step & 0xff;
    }
  }
  return step & ACCEPT ? out.toString('latin1', 0, length) : undefined;
}

const EMIT = 1 << 8;
/** The input may end here: fewer than eight bits follow the last symbol, and all are ones (section 5.2). */
const ACCEPT = 1 << 9;
const FAIL = 1 << 10;
const STATE_SHIFT = 11;
const EOS = 256;

const scratch = Buffer.allocUnsafe(4096);
/** Next state, emitted octet, and whether the input may end, for each state and four bits. A state is an inner node of the code tree. */
let machine: Int32Array | undefined;

interface Node {
  readonly index: number;
  readonly accept: boolean;
  readonly next: (Node | number | undefined)[];
}

function buildMachine(): Int32Array {
  const nodes = buildTree();
  const table = new Int32Array(nodes.length * 16);
  for (const state of nodes) for (let bits = 0; bits < 16; bits++) table[state.index * 16 + bits] = walk(nodes[0], state, bits);
  return table;
}

function walk(root: Node | undefined, state: Node, bits: number): number {
  let node: Node | undefined = state;
  let emitted = 0;
  for (let mask = 8; mask > 0; mask >>= 1) {
    const next: Node | number | undefined = node?.next[bits & mask ? 1 : 0];
    if (next === undefined || next === EOS) return FAIL;
    if (typeof next === 'number') {
      // At most one symbol ends within four bits, since the shortest code has five.
      emitted = EMIT | next;
      node = root;
    } else {
      node = next;
    }
  }
  return ((node?.index ?? 0) << STATE_SHIFT) | emitted | (node?.accept === true ? ACCEPT : 0);
}

function buildTree(): Node[] {
  const nodes: Node[] = [{ index: 0, accept: true, next: [] }];
  const symbols = [...CODE_LENGTHS.keys()].sort((a, b) => lengthOf(a) - lengthOf(b) || a - b);
  let code = -1;
  let previous = 0;
  for (const symbol of symbols) {
    const length = lengthOf(symbol);
    code = (code + 1) << (length - previous);
    previous = length;
    insert(nodes, symbol, code, length);
  }
  return nodes;
}

function insert(nodes: Node[], symbol: number, code: number, length: number): void {
  let node = nodes[0];
  for (let bit = length - 1; bit >= 0 && node !== undefined; bit--) {
    const side = (code >> bit) & 1;
    if (bit === 0) {
      node.next[side] = symbol;
      return;
    }
    const known: Node | number | undefined = node.next[side];
    if (typeof known === 'object') {
      node = known;
    } else {
      const depth = length - bit;
      const inner: Node = { index: nodes.length, accept: depth < 8 && node.accept && side === 1, next: [] };
      nodes.push(inner);
      node.next[side] = inner;
      node = inner;
    }
  }
}

function lengthOf(symbol: number): number {
  return CODE_LENGTHS[symbol] ?? 0;
}

/**
 * RFC 7541 appendix B: code length in bits of each octet; 256 is EOS. The code is canonical: codes of one length count up in the order of
 * their symbols, so the lengths define it.
 */
const CODE_LENGTHS: readonly number[] = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10,
  12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
  7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7,
  7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22,
  23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22,
  23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20,
  24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
];

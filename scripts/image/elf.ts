/**
 * An executable without what only debuggers read: everything behind the last byte that the kernel or the dynamic
 * loader maps. What `strip` would do, but without binutils and the same everywhere. A file that is not a 64-bit
 * little-endian ELF comes back as it is.
 *
 * Source: System V ABI, "Object Files" (ELF-64 header: e_phoff at 32, e_shoff at 40, e_phentsize at 54, e_phnum at
 * 56, e_shnum at 60, e_shstrndx at 62; program header: p_type at 0, p_offset at 8, p_filesz at 32).
 */
export function withoutDebugSections(program: Buffer): Buffer {
  const isElf64 = program.length > 64 && program.readUInt32BE(0) === 0x7f454c46 && program[4] === 2 && program[5] === 1;
  if (!isElf64) return program;
  const headersAt = Number(program.readBigUInt64LE(32));
  const headerSize = program.readUInt16LE(54);
  const headerCount = program.readUInt16LE(56);
  let end = headersAt + headerSize * headerCount;
  for (let at = headersAt; at < headersAt + headerSize * headerCount; at += headerSize) {
    end = Math.max(end, Number(program.readBigUInt64LE(at + 8)) + Number(program.readBigUInt64LE(at + 32)));
  }
  if (end >= program.length) return program;
  const kept = Buffer.from(program.subarray(0, end));
  // The section header table is gone, so the header must not point at it.
  kept.writeBigUInt64LE(0n, 40);
  kept.writeUInt16LE(0, 60);
  kept.writeUInt16LE(0, 62);
  return kept;
}

export interface DynamicLinks {
  /** Names of the libraries that it is linked against, such as `libc.so.6`. */
  readonly needed: readonly string[];
  /** Absolute path of the loader; undefined for a library. */
  readonly interpreter: string | undefined;
}

/**
 * What the loader of a 64-bit little-endian ELF opens. A static program needs nothing.
 *
 * Source: System V ABI, "Program Loading and Dynamic Linking" (p_vaddr at 16; PT_LOAD 1, PT_DYNAMIC 2, PT_INTERP 3; DT_NEEDED 1, DT_STRTAB 5).
 */
export function dynamicLinksOf(program: Buffer): DynamicLinks {
  const segments = segmentsOf(program);
  const text = (at: number): string => program.toString('utf8', at, program.indexOf(0, at));
  const dynamic = segments.find(({ type }) => type === 2);
  const entries = dynamic === undefined ? [] : pairsIn(program.subarray(dynamic.offset, dynamic.offset + dynamic.size));
  const strings = entries.find(({ tag }) => tag === 5)?.value ?? 0;
  const holder = segments.find(({ type, address, size }) => type === 1 && address <= strings && strings < address + size);
  const start = holder === undefined ? 0 : strings - holder.address + holder.offset;
  const interpreter = segments.find(({ type }) => type === 3);
  return {
    needed: entries.filter(({ tag }) => tag === 1).map(({ value }) => text(start + value)),
    interpreter: interpreter === undefined ? undefined : text(interpreter.offset),
  };
}

interface Segment {
  readonly type: number;
  readonly offset: number;
  readonly address: number;
  readonly size: number;
}

function segmentsOf(program: Buffer): readonly Segment[] {
  const [start, size, count] = [Number(program.readBigUInt64LE(32)), program.readUInt16LE(54), program.readUInt16LE(56)];
  return Array.from({ length: count }, (_, index) => {
    const at = start + index * size;
    const number = (field: number): number => Number(program.readBigUInt64LE(at + field));
    return { type: program.readUInt32LE(at), offset: number(8), address: number(16), size: number(32) };
  });
}

/** Tags and values of the dynamic section. */
function pairsIn(section: Buffer): readonly { readonly tag: number; readonly value: number }[] {
  return Array.from({ length: Math.floor(section.length / 16) }, (_, index) => ({
    tag: Number(section.readBigUInt64LE(index * 16)),
    value: Number(section.readBigUInt64LE(index * 16 + 8)),
  }));
}

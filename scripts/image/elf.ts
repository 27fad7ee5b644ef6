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

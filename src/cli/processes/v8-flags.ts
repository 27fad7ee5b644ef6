/**
 * Re-executes this process in place with the required V8 flags and environment; no-op the second time. Runs before modules are
 * loaded and before signals are handled: the new process would miss earlier signals.
 */
export function applyV8Flags(): void {
  const missingFlags = V8_FLAGS.filter((flag) => !process.execArgv.includes(flag));
  const missing = Object.entries(ENVIRONMENT).filter(([name]) => process.env[name] === undefined);
  const [, script] = process.argv;
  // The variable is set here before the re-execution, so it happens only once even if flags are still missing.
  if (process.env[TUNED] !== undefined || process.execve === undefined || script === undefined) return;
  if (missingFlags.length === 0 && missing.length === 0) return;
  const environment = { ...process.env, ...Object.fromEntries(missing), [TUNED]: '1' };
  process.execve(process.execPath, [process.execPath, ...process.execArgv, ...missingFlags, script, ...process.argv.slice(2)], environment);
}

const TUNED = 'EARSHOT_TUNED';

/**
 * A young generation of 4 MB, which `--optimize-for-size` at the start would limit to 1 MB for good, and little growth until `gc-policy.ts`
 * takes over (docs/adr/0033). The young generation is small enough to collect on one thread: on a busy machine waiting for helper threads
 * takes longer than the work. They come last, and so win over the flags of the image, which suit controllers.
 */
const V8_FLAGS: readonly string[] = [
  '--max-semi-space-size=4',
  '--no-optimize-for-size',
  '--heap-growing-percent=20',
  '--no-parallel-scavenge',
  '--expose-gc',
];

/**
 * mallopt(3). By default glibc keeps an arena per thread, and freed memory below a live block stays in the process: hundreds of
 * megabytes after an attack. Buffers from 24 KiB get mappings of their own, which are returned; TLS record buffers are smaller.
 * At most half of the 65,530 mappings of a process (vm.max_map_count), because V8's heap needs some.
 */
const ENVIRONMENT: Readonly<Record<string, string>> = { MALLOC_ARENA_MAX: '1', MALLOC_MMAP_THRESHOLD_: '24576', MALLOC_MMAP_MAX_: '32768' };

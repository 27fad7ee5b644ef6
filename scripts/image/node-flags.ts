/**
 * What keeps a process small; docs/adr/0006 has the measurements. The work is waiting for the API server, so what
 * compilers, spare memory and per-thread arenas would make faster is not what takes time.
 */
export const NODE_FLAGS = [
  '--max-semi-space-size=1',
  '--optimize-for-size',
  // The working memory of these compilers stays with the process. The interpreter and the optimizing compiler remain.
  '--no-maglev',
  '--no-sparkplug',
  // undici's HTTP parser is WebAssembly; the code of the first compiler does, and the second costs 5 MB.
  '--liftoff-only',
  // Otherwise V8 copies its built-in functions out of the program file, where they are shared, into memory of its own.
  '--no-short-builtin-calls',
];

/**
 * For the node driver, which stands on every node and does little, besides: no optimizing compiler either. The chart
 * names them, since an entry point is one for the whole image.
 */
export const NODE_DRIVER_FLAGS = ['--no-opt'];

/** For glibc's malloc: one arena for all threads, and what is free at the top goes back to the system early. */
export const NODE_ENVIRONMENT = { MALLOC_ARENA_MAX: '1', MALLOC_TRIM_THRESHOLD_: '65536' };

/** Aborted by the first SIGTERM or SIGINT. A second one ends the process at once, as impatient people expect. */
export function untilStopped(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      process.once(signal, () => process.exit(1));
      stop.abort();
    });
  }
  return stop.signal;
}

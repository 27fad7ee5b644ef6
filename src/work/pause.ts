import { bounded } from '../telemetry/boundary.ts';

/** Resolves after the time; rejects with the signal's reason as soon as it is aborted. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason);
      return;
    }
    const giveUp = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const onAbort = bounded('look/pause-aborted', giveUp, giveUp);
    const onTime = (): void => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    };
    const timer = setTimeout(bounded('look/pause-over', onTime, onTime), milliseconds);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** Resolves once the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

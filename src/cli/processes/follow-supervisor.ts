import { bounded } from '../../telemetry/boundary.ts';
import { RELOAD, STOP_ASKED } from './router-supervisor.ts';
import type { Supervised } from './run-site.ts';

/**
 * Connects a router to the supervisor that started it. Without the supervisor nothing restarts or stops the router, so it drains and ends;
 * the next supervisor starts another one.
 */
export function followSupervisor(): Pick<Supervised, 'stop'> & { readonly ended: AbortSignal } {
  const end = new AbortController();
  const onDisconnect = (): void => end.abort();
  process.once('disconnect', bounded('process/supervisor-ended', onDisconnect, onDisconnect));
  if (process.connected !== true) end.abort();
  const onMessage = (message: unknown): void => {
    if (message === RELOAD) process.emit('SIGHUP', 'SIGHUP');
  };
  process.on('message', bounded('process/supervisor-message', onMessage));
  // The channel must not keep the process alive.
  process.channel?.unref();
  return {
    ended: end.signal,
    stop: () => {
      // The channel may be closing. Then this router ends anyway.
      if (process.connected === true) process.send?.(STOP_ASKED, undefined, undefined, () => {});
    },
  };
}

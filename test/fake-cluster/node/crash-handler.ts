/** Stands for `src/cli/processes/crash-handler.ts`: what nobody catches is a fault that the world sees. */
export const createCrashHandler = (_log: unknown, stopped: AbortSignal): object => ({
  stopped,
  drain: (asked: number) => asked,
  [Symbol.dispose]() {},
});

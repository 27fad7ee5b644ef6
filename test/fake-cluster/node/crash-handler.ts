/** Stands for `src/cli/processes/crash-handler.ts`: an uncaught error is a fault that the world records. */
export const createCrashHandler = (_log: unknown, stopped: AbortSignal): object => ({
  stopped,
  drain: (asked: number) => asked,
  [Symbol.dispose]() {},
});

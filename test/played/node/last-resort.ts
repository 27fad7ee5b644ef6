/** Stands for `src/cli/processes/last-resort.ts`: what nobody catches is a fault that the world sees. */
export const lastResort = (_log: unknown, stopped: AbortSignal): object => ({
  stopped,
  drain: (asked: number) => asked,
  [Symbol.dispose]() {},
});

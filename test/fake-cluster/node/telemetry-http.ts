/** Stands for `src/cli/processes/telemetry-http.ts`. */
export const serveTelemetry = async (): Promise<object> => ({ port: 0, async [Symbol.asyncDispose]() {} });

/** Stands for what reads TLS connections by themselves: those that are played have nothing to verify, and are read as any other. */
export function openTlsInput(): void {}

export const takerOf = (): undefined => undefined;

export const beginsHarmlessly = (): boolean => false;

export const hasSaid = (): boolean => false;

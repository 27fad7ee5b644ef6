/** Stands for what asks the kernel how much memory there is: a router here is always told how much it may take, which is less. */
export * from '../../../src/memory/limit.ts';

export const memoryLimit = (said: number): number => said;

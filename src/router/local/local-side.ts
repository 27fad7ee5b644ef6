import type { LocalSide, LocalSideOptions } from './contract.ts';

/** Joins listeners, choice, connectors and pumps. */
export function createLocalSide(_options: LocalSideOptions): LocalSide {
  throw new Error('The local side is not written yet.');
}

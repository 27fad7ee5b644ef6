import type { Cluster } from '../../test/harness/index.ts';
import type { Narrator } from './narrator.ts';
import type { Shell } from './shell.ts';

/** What every step works with. */
export interface Tour {
  readonly cluster: Cluster;
  readonly narrator: Narrator;
  readonly shell: Shell;
}

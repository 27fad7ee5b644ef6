import type { Ground } from '../cluster/load.ts';
import type { Notes } from '../cluster/measure.ts';
import type { Sizes } from './options.ts';
import type { Pair } from './places.ts';

/** Environment of every scenario. */
export interface Bench extends Ground, Notes {
  readonly sizes: Sizes;
  /** State that one scenario leaves for the next, since creating it again would take minutes. */
  readonly left: { many?: Pair };
}

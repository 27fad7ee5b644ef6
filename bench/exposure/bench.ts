import type { Ground } from '../cluster/load.ts';
import type { Notes } from '../cluster/measure.ts';
import type { Sizes } from './options.ts';
import type { Workspace } from './workspace.ts';

/** Environment of every scenario. */
export interface Bench extends Ground, Notes {
  readonly sizes: Sizes;
  /** State that one scenario leaves for the next, since creating it again would take minutes. */
  readonly left: { listeners?: Workspace };
}

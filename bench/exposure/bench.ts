import type { Ground } from './load.ts';
import type { Sizes } from './options.ts';
import type { Workspace } from './workspace.ts';

/** What every scenario works with. */
export interface Bench extends Ground {
  readonly sizes: Sizes;
  /** Adds a sample to a figure; see figures.ts for their ids. */
  readonly record: (id: string, sample: number) => void;
  /** Adds a sentence on what was unlike the rest, for the report. */
  readonly tell: (text: string) => void;
  /** What one scenario leaves for the next, since making it anew would take minutes. */
  readonly left: { listeners?: Workspace };
}

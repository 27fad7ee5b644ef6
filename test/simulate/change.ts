/** A change of a file's text, which has to be there just once. */
export interface Change {
  /** Below `src`. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** A known mistake that a simulation must find when its changes are applied. */
export interface PlantedFault {
  /** The fault in one sentence. */
  readonly description: string;
  /** First seed, counted from 1, that found it when this was last measured; absent if none of 200 did. */
  readonly firstSeed?: number;
  /** Unit test that finds it, where no seed is known. */
  readonly foundBy?: string;
  readonly changes: readonly Change[];
}

export type PlantedFaults = Readonly<Record<string, PlantedFault>>;

/** @throws Error where a text to be changed is not there just once: then the code has moved on, and the change has to follow */
export function changed(text: string, changes: readonly Change[]): string {
  let result = text;
  for (const { file, from, to } of changes) {
    const parts = result.split(from);
    if (parts.length !== 2) throw new Error(`In src/${file} this stands ${parts.length - 1} times, and not once: ${from}`);
    result = parts.join(to);
  }
  return result;
}

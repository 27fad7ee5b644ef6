/** A change of a file's text, which has to be there just once. */
export interface Change {
  /** Below `src`. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

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

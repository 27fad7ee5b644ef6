/**
 * The least part of a history that still fails, as far as leaving out halves, quarters and so on finds it (Zeller's delta debugging).
 * @param fails tries a part
 */
export async function shorten<T>(all: readonly T[], fails: (some: readonly T[]) => Promise<boolean>): Promise<readonly T[]> {
  let left = all;
  let parts = 2;
  while (left.length > 1) {
    const size = Math.ceil(left.length / parts);
    let shorter: readonly T[] | undefined;
    for (let from = 0; from < left.length && shorter === undefined; from += size) {
      const without = left.filter((_, at) => at < from || at >= from + size);
      if (await fails(without)) shorter = without;
    }
    if (shorter !== undefined) {
      left = shorter;
      parts = Math.max(2, parts - 1);
    } else if (size === 1) {
      return left;
    } else {
      parts = Math.min(left.length, parts * 2);
    }
  }
  return left;
}

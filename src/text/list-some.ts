/** The first texts of a list, and the number of the others: `a, b and 3 more`. */
export function listSome(texts: readonly string[], most: number): string {
  const left = texts.length - most;
  return `${texts.slice(0, most).join(', ')}${left > 0 ? ` and ${left} more` : ''}`;
}

/** The first texts of a list, and whether it goes on: `a, b, …`. */
export function listFirst(texts: readonly string[], most: number): string {
  return `${texts.slice(0, most).join(', ')}${texts.length > most ? ', …' : ''}`;
}

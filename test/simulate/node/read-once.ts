/** Results that follow from a text alone, computed once for all worlds of a process. */

const known: Map<string, unknown>[] = [];

/** @param read its further arguments matter only if the text is invalid */
export function readOnce<T, M extends readonly unknown[]>(read: (text: string, ...more: M) => T): (text: string, ...more: M) => T {
  const answers = new Map<string, T>();
  known.push(answers);
  return (text, ...more) => {
    const answer = answers.get(text);
    if (answer !== undefined) return answer;
    const created = read(text, ...more);
    answers.set(text, created);
    return created;
  };
}

/** More texts than all worlds have in common are those of worlds that are over. */
const MOST = 1_000;

/** Between two worlds: within one, what was read of one text is one object. */
export function forgetRead(): void {
  for (const answers of known) if (answers.size >= MOST) answers.clear();
}

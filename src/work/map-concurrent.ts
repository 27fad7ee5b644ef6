/** Runs all jobs in order with limited concurrency. After the first rejection no other job starts. */
export async function mapConcurrent(many: number, jobs: Iterable<() => Promise<unknown>>): Promise<void> {
  // The workers share one iterator, so each job runs once.
  const rest = jobs[Symbol.iterator]();
  let hasFailed = false;
  const work = async (): Promise<void> => {
    for (let next = rest.next(); next.done !== true && !hasFailed; next = rest.next()) {
      try {
        await next.value();
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: many }, work));
}

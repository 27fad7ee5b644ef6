/** Does all jobs, in their order, so many at once. The first that rejects lets no other begin. */
export async function mapConcurrent(many: number, jobs: Iterable<() => Promise<unknown>>): Promise<void> {
  // The workers share one iterator, so each job is taken once.
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

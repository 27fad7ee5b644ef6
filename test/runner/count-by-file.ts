/** A reporter for together.ts: a line of JSON for each file that has ended. */
import type { TestEvent } from 'node:test/reporters';
import type { FileCounts } from './batch.ts';

export default async function* countByFile(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  let counts = { passed: 0, failed: 0, skipped: 0 };
  for await (const { type, data } of events) {
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    if (data.nesting === 0) {
      const failed = type === 'test:fail' ? Math.max(1, counts.failed) : counts.failed;
      const line: FileCounts = { file: data.name, seconds: data.details.duration_ms / 1_000, ...counts, failed };
      yield `${JSON.stringify(line)}\n`;
      counts = { passed: 0, failed: 0, skipped: 0 };
    } else if (data.details.type !== 'suite') {
      const isSkipped = data.skip !== undefined || data.todo !== undefined;
      counts[isSkipped ? 'skipped' : type === 'test:pass' ? 'passed' : 'failed']++;
    }
  }
}

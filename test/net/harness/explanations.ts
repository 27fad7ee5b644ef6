/** Explanations of real sites, as programs read them. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Explanation } from '../../../src/explain/step.ts';
import { eventually } from '../../harness/wait.ts';
import type { Site } from './site.ts';

export async function explain(
  site: Site,
  kind: string,
  name: string,
): Promise<{ readonly code: number | undefined; readonly explanation: Explanation }> {
  const { code, stdout, stderr } = await site.attempt(['explain', kind, name, '-o', 'json']);
  if (stdout === '') throw new Error(stderr);
  // The program writes this type.
  return { code: code ?? undefined, explanation: JSON.parse(stdout) as Explanation };
}

/** Waits until the fault has its effect; then the explanation has this cause, with exit code 1. */
export async function fails(t: TestContext, site: Site, object: string, step: string, code: string, says: RegExp): Promise<void> {
  const [kind = '', name = ''] = object.split(' ');
  await eventually(`explain ${object} at ${site.name} to name ${code}`, async () => {
    const begun = performance.now();
    const { code: exit, explanation } = await explain(site, kind, name);
    const { cause, verdict } = explanation;
    assert.deepEqual([cause?.id, cause?.code, verdict, exit], [step, code, 'fail', 1], JSON.stringify(explanation.steps));
    assert.match(`${cause?.says ?? ''} ${cause?.do ?? ''}`, says);
    t.diagnostic(`${object} at ${site.name}: ${code} after ${Math.round(performance.now() - begun)} ms`);
    return true;
  });
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commonCauses, reportOf } from '../../../src/explain/report.ts';
import type { Explanation, Step } from '../../../src/explain/step.ts';

const step = (object: string, state: Step['state'], says: string): Step => ({ id: 'x.path', object, state, says, code: 'timeout' });
const explained = (object: string, cause: Step): Explanation => ({ object, verdict: cause.state, cause, steps: [cause], asOf: '' });

test('a cause that affects several objects is reported once, in the words of its own chain, failures first', () => {
  const objects = [
    explained('AccessToken/t', step('AccessToken/t', 'wait', 'is tried again')),
    ...['a', 'b'].map((name) => explained(`Listener/${name}`, step('Link/east', 'fail', 'the link east is down'))),
    explained('Link/east', step('Link/east', 'fail', 'No answer')),
  ];
  const causes = commonCauses(reportOf(objects, [], new Date(0)));
  assert.deepEqual(
    causes.map(({ step: { says }, affected }) => [says, affected]),
    [
      ['No answer', ['Listener/a', 'Listener/b']],
      ['is tried again', []],
    ],
  );
});

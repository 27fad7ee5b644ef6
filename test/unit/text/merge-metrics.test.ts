import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mergeMetrics } from '../../../src/text/merge-metrics.ts';

const ofFirst = `# HELP links Links.
# TYPE links gauge
links 2

# HELP opened_total Connections.
# TYPE opened_total counter
opened_total{key="a b{",code="x"} 5
opened_total{key="c"} 6
`;
const ofSecond = `# HELP opened_total Connections.
# TYPE opened_total counter
opened_total{key="c"} 7

# HELP seconds Time.
# TYPE seconds histogram
seconds_bucket{le="1"} 1
seconds_sum 0.5
`;

test('metrics of two routers are described once, and each sample names its router', () => {
  const merged = mergeMetrics(
    'router',
    new Map([
      ['router', ofFirst],
      ['router-2', ofSecond],
    ]),
  );
  assert.equal(
    merged,
    `# HELP links Links.
# TYPE links gauge
links{router="router"} 2

# HELP opened_total Connections.
# TYPE opened_total counter
opened_total{router="router",key="a b{",code="x"} 5
opened_total{router="router",key="c"} 6
opened_total{router="router-2",key="c"} 7

# HELP seconds Time.
# TYPE seconds histogram
seconds_bucket{router="router-2",le="1"} 1
seconds_sum{router="router-2"} 0.5
`,
  );
});

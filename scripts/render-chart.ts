/**
 * Renders the chart with its default values into deploy/earshot.yaml, for those who have no Helm at hand.
 *
 *   node scripts/render-chart.ts           writes it
 *   node scripts/render-chart.ts --check   fails when what is checked in differs
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { toolFolder } from '../test/harness/tools.ts';
import { argumentsOf } from './arguments.ts';

const { values } = argumentsOf('node scripts/render-chart.ts [--check]', { options: { check: { type: 'boolean' } } });

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FILE = `${ROOT}deploy/earshot.yaml`;
const NAMESPACE = 'earshot-system';

const rendered = execFileSync(
  `${await toolFolder('helm')}/helm`,
  ['template', 'earshot', `${ROOT}deploy/chart`, '--namespace', NAMESPACE],
  { encoding: 'utf8' },
);
const manifest = `# The chart with its default values: kubectl apply --server-side -f deploy/earshot.yaml
# Written by \`node scripts/render-chart.ts\`; edit the chart, not this file.
apiVersion: v1
kind: Namespace
metadata:
  name: ${NAMESPACE}
  labels:
    # Where Pod Security is enforced: the driver mounts folders of the host.
    pod-security.kubernetes.io/enforce: privileged
${rendered}`;

if (values.check === true) {
  if (readFileSync(FILE, 'utf8') !== manifest) {
    console.error('deploy/earshot.yaml is not what the chart renders; run: node scripts/render-chart.ts');
    process.exitCode = 1;
  }
} else {
  writeFileSync(FILE, manifest);
}

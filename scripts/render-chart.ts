/**
 * Renders the chart into deploy/, for those who have no Helm at hand: earshot.yaml with its default values, earshot-sites.yaml with the
 * connection half alone.
 *
 *   node scripts/render-chart.ts           writes them
 *   node scripts/render-chart.ts --check   fails when what is checked in differs
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { toolFolder } from '../test/harness/tools.ts';
import { argumentsOf } from './arguments.ts';

const { values } = argumentsOf('node scripts/render-chart.ts [--check]', { options: { check: { type: 'boolean' } } });

const ROOT = fileURLToPath(new URL('..', import.meta.url));

interface Manifest {
  readonly file: string;
  readonly about: string;
  readonly release: string;
  readonly namespace: string;
  /** Lines of the namespace's metadata besides. */
  readonly labels: string;
  readonly args: readonly string[];
}

const manifests: readonly Manifest[] = [
  {
    file: 'deploy/earshot.yaml',
    about: 'The chart with its default values',
    release: 'earshot',
    namespace: 'earshot-system',
    labels: `  labels:
    # Where Pod Security is enforced: the driver mounts folders of the host.
    pod-security.kubernetes.io/enforce: privileged
`,
    args: [],
  },
  {
    file: 'deploy/earshot-sites.yaml',
    about: 'The chart with the connection half alone',
    release: 'skupper',
    namespace: 'skupper',
    labels: '',
    // With the right to make Listeners of a class: where the exposure half is not installed, it is a right to nothing.
    args: ['--set', 'exposure.enabled=false,connection.enabled=true', '--api-versions', 'listeners.stackable.tech/v1alpha1'],
  },
];

const helm = `${await toolFolder('helm')}/helm`;
for (const manifest of manifests) {
  const text = render(manifest);
  const path = `${ROOT}${manifest.file}`;
  if (values.check !== true) writeFileSync(path, text);
  else if (readIfAny(path) !== text) {
    console.error(`${manifest.file} is not what the chart renders; run: node scripts/render-chart.ts`);
    process.exitCode = 1;
  }
}

function render({ file, about, release, namespace, labels, args }: Manifest): string {
  const command = ['template', release, `${ROOT}deploy/chart`, '--namespace', namespace, ...args];
  const rendered = execFileSync(helm, command, { encoding: 'utf8' });
  return `# ${about}: kubectl apply --server-side -f ${file}
# Written by \`node scripts/render-chart.ts\`; edit the chart, not this file.
apiVersion: v1
kind: Namespace
metadata:
  name: ${namespace}
${labels}${rendered}`;
}

function readIfAny(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

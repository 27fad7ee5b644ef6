/** The chart as plain manifests, for those who have no Helm at hand. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { toolFolder } from '../test/harness/tools.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

export interface ChartManifest {
  readonly file: string;
  readonly about: string;
  readonly release: string;
  readonly namespace: string;
  /** Lines of the namespace's metadata besides. */
  readonly labels: string;
  readonly args: readonly string[];
}

export const chartManifests: readonly ChartManifest[] = [
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
    // Includes the right to create Listeners, which has no effect without the exposure half.
    args: ['--set', 'exposure.enabled=false,connection.enabled=true', '--api-versions', 'listeners.stackable.tech/v1alpha1'],
  },
];

/** @param further arguments of `helm template`, such as `--set` */
export async function renderManifest(
  { file, about, release, namespace, labels, args }: ChartManifest,
  further: readonly string[] = [],
): Promise<string> {
  const helm = `${await toolFolder('helm')}/helm`;
  const command = ['template', release, `${ROOT}deploy/chart`, '--namespace', namespace, '--skip-tests', ...args, ...further];
  const rendered = execFileSync(helm, command, { encoding: 'utf8' });
  return `# ${about}: kubectl apply --server-side -f ${file}
# Written by \`node scripts/render-chart.ts\`; edit the chart, not this file.
apiVersion: v1
kind: Namespace
metadata:
  name: ${namespace}
${labels}${rendered}`;
}

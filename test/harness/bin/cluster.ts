/** `make cluster`: two nodes with Earshot installed, left running; the last line says where its kubeconfig is.
 * The images of the examples are on its nodes. */
import { argumentsOf } from '../../../scripts/arguments.ts';
import { loadExampleImages } from '../example-images.ts';
import { installManifest } from '../install.ts';
import { HarnessError, publishCluster, startCluster } from '../index.ts';
import { toolPath } from '../tools.ts';

const { values } = argumentsOf('node test/harness/bin/cluster.ts [--name CLUSTER] [--nodes N] [--dual-stack] [--bare]', {
  options: {
    name: { type: 'string', default: 'earshot' },
    nodes: { type: 'string', default: '2' },
    'dual-stack': { type: 'boolean', default: false },
    bare: { type: 'boolean', default: false },
  },
});
const started = performance.now();
const log = (line: string): void => console.log(`${((performance.now() - started) / 1000).toFixed(1).padStart(6)} s  ${line}`);

try {
  const cluster = await startCluster({
    name: values.name,
    nodes: Number(values.nodes),
    dualStack: values['dual-stack'],
    log,
    detached: true,
  });
  publishCluster(cluster);
  // Without Debian's archive only one example is less, and a cluster that was started all the same.
  const examples = loadExampleImages(cluster).catch((error: unknown) => log(`examples/redis-cluster will not run: ${String(error)}`));
  if (!values.bare) await installManifest(cluster, log);
  await examples;
  await cluster.api.close();
  const folders = [await toolPath(cluster.state.kubernetes), await toolPath('helm')];
  console.log(`
The cluster runs until \`make cluster-stop${values.name === 'earshot' ? '' : ` NAME=${values.name}`}\`. To look around:
  export KUBECONFIG=${cluster.kubeconfig}
  export PATH=${folders.join(':')}:$PATH      # kubectl, and helm once \`tools/build.sh helm\` has run
  kubectl get nodes,pods --all-namespaces
`);
  console.log(`KUBECONFIG=${cluster.kubeconfig}`);
} catch (error) {
  console.error(error instanceof HarnessError ? error.message : error);
  process.exitCode = 1;
}

/** `make cluster`: two nodes with Earshot installed, left running; the last line says where its kubeconfig is. */
import { argumentsOf } from '../../../scripts/arguments.ts';
import { installManifest } from '../install.ts';
import { HarnessError, publishCluster, startCluster } from '../index.ts';

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
  if (!values.bare) await installManifest(cluster, log);
  await cluster.api.close();
  console.log(
    `\nThe cluster runs until \`make cluster-stop\`. To look around:\n  export KUBECONFIG=${cluster.kubeconfig}\n  kubectl get nodes,pods --all-namespaces\n`,
  );
  console.log(`KUBECONFIG=${cluster.kubeconfig}`);
} catch (error) {
  console.error(error instanceof HarnessError ? error.message : error);
  process.exitCode = 1;
}

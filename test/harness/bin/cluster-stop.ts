/** `make cluster-stop`: ends the cluster that `make cluster` or `make demo` left running, and removes all that it made. */
import { argumentsOf } from '../../../scripts/arguments.ts';
import { stopCluster } from '../index.ts';

const { values } = argumentsOf('node test/harness/bin/cluster-stop.ts [--name CLUSTER]', {
  options: { name: { type: 'string', default: 'earshot' } },
});
const stopped = await stopCluster(values.name);
console.log(stopped ? `The cluster ${values.name} is gone.` : `No cluster ${values.name} runs here.`);

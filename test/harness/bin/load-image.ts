/** Puts images from archives (docker or OCI) on every node of a running cluster, which has no way to a registry. */
import { argumentsOf } from '../../../scripts/arguments.ts';
import { connectCluster, HarnessError } from '../index.ts';
import { CLUSTERS } from '../layout.ts';

const usage = 'node test/harness/bin/load-image.ts [--name CLUSTER] ARCHIVE...';
const {
  values: { name },
  positionals: archives,
} = argumentsOf(usage, { options: { name: { type: 'string', default: 'earshot' } }, allowPositionals: true });
if (archives.length === 0) {
  console.error(`There is no archive to load.\nusage: ${usage}`);
  process.exit(2);
}
try {
  await using cluster = connectCluster(`${CLUSTERS}/${name}/state.json`);
  for (const archive of archives) {
    await cluster.loadImage(archive);
    console.log(`${archive} is on every node of ${name}.`);
  }
} catch (error) {
  console.error(error instanceof HarnessError ? error.message : error);
  process.exitCode = 1;
}

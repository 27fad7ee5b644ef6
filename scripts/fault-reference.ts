/** docs/reference/planted-faults.md, from the faults that the simulations plant. */
import { faults as clusterFaults } from '../test/fake-cluster/faults.ts';
import type { PlantedFaults } from '../test/simulate/change.ts';
import { faults as routerFaults } from '../test/simulate/faults/faults.ts';

export function plantedFaultReference(): string {
  return `${[
    INTRODUCTION.trim(),
    '## Router worlds: `npm run simulate`',
    table(routerFaults),
    '## Simulated clusters: `npm run play`',
    table(clusterFaults),
  ].join('\n\n')}\n`;
}

function table(faults: PlantedFaults): string {
  const rows = Object.entries(faults)
    .toSorted(([, left], [, right]) => (left.firstSeed ?? Infinity) - (right.firstSeed ?? Infinity))
    .map(
      ([name, { description, firstSeed, foundBy }]) =>
        `| \`${name}\` | ${description} | ${firstSeed ?? (foundBy === undefined ? 'none of 200 seeds' : `\`${foundBy}\``)} |`,
    );
  return ['| fault | what goes wrong | first found by |', '| --- | --- | --- |', ...rows].join('\n');
}

const INTRODUCTION = `
<!-- Written by \`npm run generate\` from test/simulate/faults/faults.ts and test/fake-cluster/faults.ts: change it there. -->

# Planted faults

[The simulations](../simulation.md) must find each of these mistakes when \`--fault NAME\` plants it. A number is the first seed that found
it when this was last measured; it moves when the worlds or the timings change. A file name is the unit test that finds it where no seed is
known.
`;

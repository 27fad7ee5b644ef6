import assert from 'node:assert/strict';
import { parse } from 'yaml';
import { Random } from '../../bench/routing/random.ts';
import { Planner } from '../../src/agent/planner.ts';
import { linux } from '../../src/platform/linux/machine.ts';
import { parseResources, type ParsedFile } from '../../src/platform/linux/parse.ts';
import { problemsFile, problemsOfFiles, statusFiles } from '../../src/platform/linux/report.ts';
import { readSettings } from '../../src/agent/settings.ts';
import { noTrust } from '../../src/site/observe/trust-facts.ts';
import { observeSite } from '../../src/site/observe/observe.ts';
import { keyOf, sortResources } from '../../src/site/resources.ts';
import { mutate } from './mutate.ts';
import { BUNDLES, hostileResource, SAMPLES } from './resource-words.ts';
import { Fault, type Plan, type Tally, type Target } from './target.ts';

/** From a file's text to what the router would run and the statuses that would be written, without a disk. */
export const files: Target = {
  what: 'texts of resource files, planned and reported',
  cases: 1_000_000,
  heapKilobytes: 16_384,
  slowest: 3_000,
  run,
};

async function run({ cases, seed, first, step }: Plan): Promise<Tally> {
  const sum = { accepted: 0, refused: 0, objects: 0, problems: 0, configured: 0 };
  for (let number = first; number < first + cases; number += 1) {
    const random = new Random(Math.imul(seed, 0x9e37_79b1) ^ Math.imul(number, 0x85eb_ca6b));
    const text = textOf(random);
    try {
      const parsed = await parseResources(text, 'input/resources/a.yaml', 'west');
      check(parsed);
      const isTaken = parsed.objects.length + parsed.bundles.length > 0;
      sum[isTaken ? 'accepted' : 'refused'] += 1;
      sum.objects += parsed.objects.length;
      sum.problems += parsed.problems.length;
      // Every hundredth statement of statuses is read back: reading costs more than all else.
      if (isTaken) sum.configured += use(parsed, number % 100 === 0);
    } catch (error) {
      throw new Fault(`files, seed ${seed}, case ${number}`, JSON.stringify(text), error);
    }
    step(1);
  }
  const { accepted, refused, ...notes } = sum;
  return { cases, accepted, refused, notes };
}

function textOf(random: Random): string {
  switch (random.below(8)) {
    case 0:
      return random.bytes(random.below(200)).toString();
    case 1:
    case 2:
      return JSON.stringify(hostileResource(random));
    case 3:
      return Array.from({ length: 2 + random.below(3) }, () => `---\n${random.pick(SAMPLES)}`).join('');
    default:
      return mutate(random, Buffer.from(random.pick(SAMPLES))).toString();
  }
}

/** @throws AssertionError where a problem could not be shown to a person, or a resource was let through that was not looked at */
function check({ objects, problems }: ParsedFile): void {
  assert.ok(problems.length <= 51, `${problems.length} problems`);
  for (const { message, field = '', line = 1, column = 1, resource = '' } of problems) {
    assert.ok(message.length > 3 && message.length < 1_000, `a message of ${message.length} characters`);
    assert.ok(!/\p{Cc}/u.test(message + resource), `a message with control characters: ${JSON.stringify(message + resource)}`);
    assert.ok(!/\p{Cc}/u.test(field) && field.length < 1_000, `a field with control characters: ${JSON.stringify(field)}`);
    assert.ok(line >= 1 && column >= 1, `line ${line}, column ${column}`);
  }
  for (const { value } of objects) {
    assert.equal(value.apiVersion, 'skupper.io/v2alpha1');
    assert.match(value.metadata.name ?? '', /^[a-z0-9][-a-z0-9.]{0,252}$/);
  }
  assert.equal(Reflect.get({}, 'polluted'), undefined, 'a prototype was changed');
}

/** @returns how much a router would be given to do */
function use({ objects, bundles, problems }: ParsedFile, isReadBack: boolean): number {
  const seen = new Set<string>();
  const firsts = objects.map(({ value }) => value).filter((value) => !seen.has(keyOf(value)) && seen.add(keyOf(value)));
  const resources = sortResources(firsts);
  const empty = { bundles: new Map(), unreadable: new Map() };
  const snapshot = {
    resources,
    problems: problemsOfFiles(problems),
    bundles: empty,
    attached: bundles.map(({ value }) => value),
    incomplete: false,
    restless: false,
  };
  const issued = { ...empty, bundles: new Map(BUNDLES.map((bundle) => [bundle.name, bundle])) };
  const bundleLocation = (name: string): string => `input/certs/${name}/`;
  const { plan } = new Planner().plan(
    { snapshot, issued, siteAuthority: undefined, platform: linux, reach: { kind: 'direct', hosts: [] }, bundleLocation },
    Date.now(),
  );
  if (plan.site !== undefined) readSettings(plan.site);
  for (const { port } of [...plan.config.listeners, ...plan.config.connectors])
    assert.ok(Number.isInteger(port) && port >= 0 && port <= 65_535, `port ${port}`);
  const statuses = observeSite(
    {
      resources,
      plan,
      problems: snapshot.problems,
      trust: noTrust,
      reach: { kind: 'direct', hosts: ['192.0.2.1'] },
      controller: { name: 'earshot', namespace: 'west', version: '1' },
      wording: linux.wording,
    },
    new Map(),
    '2027-01-01T00:00:00Z',
  );
  const written = statusFiles({ resources, statuses, problems: snapshot.problems }, '2027-01-01T00:00:00Z');
  for (const [name, { parts }] of written) {
    const text = [...parts()].join('');
    assert.match(name, /^[A-Za-z]+-[a-z0-9][-a-z0-9.]*\.yaml$/);
    if (isReadBack) assert.deepEqual(typeof parse(text), 'object');
  }
  if (isReadBack) parse([...problemsFile(problems)].join(''));
  return plan.config.listeners.length + plan.config.connectors.length + plan.config.links.length + plan.config.accesses.length;
}
